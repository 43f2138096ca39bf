#include "gui/models/fields.h"

#include <QDir>

#include "sim/cluster/builders.h"
#include "sim/scenario/names.h"
#include "sim/scenario/read.h"

namespace sgsim::gui {
namespace {

template <class Table>
QStringList words(const Table& table) {
  QStringList list;
  for (const auto& [name, value] : table) list << QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
  return list;
}

QStringList shipped(const char* folder, bool whole_path) {
  QStringList list;
  if (dataFolder().isEmpty()) return list;  // fields have no suggestions; simulating says what is missing
  const QDir dir(dataFolder() + QLatin1Char('/') + QLatin1String(folder));
  for (const QString& name : dir.entryList({QStringLiteral("*.json")}, QDir::Files, QDir::Name)) list << (whole_path ? dir.absoluteFilePath(name) : name.chopped(5));
  return list;
}

QStringList clusters() {
  QStringList list;
  for (const std::string& name : cluster::builtin_cluster_names()) list << QString::fromStdString(name);
  return list;
}

}  // namespace

QString dataFolder() {
  try {
    return QString::fromStdString(scenario::data_folder());
  } catch (const std::exception&) {
    return {};
  }
}

std::vector<Section> scenarioSections() {
  using K = FieldKind;
  namespace w = scenario::words;
  const QStringList none;
  std::vector<Section> s;
  s.push_back({QObject::tr("Model"),
               {{"model.config", QObject::tr("config.json"), K::file, shipped("models", true), QObject::tr("Hugging Face config of the llama, gpt2, bert or mixtral family; the operator graph is generated")},
                {"model.graph", QObject::tr("captured graph"), K::file, none, QObject::tr("A captured graph (*.graph.json[.gz]) instead of a config; drop the file on the window")},
                {"model.sequence", QObject::tr("sequence, tokens"), K::integer, none, QObject::tr("Tokens a sample (with a config)")},
                {"model.layers", QObject::tr("layers"), K::text, none, QObject::tr("As many layers as this; \"file\": as the file says")},
                {"model.attention", QObject::tr("attention"), K::choice, words(w::kAttention), QObject::tr("flash: one fused kernel; flash-repeated: with keys and values copied to every query head; unfused: products, mask and softmax apart")},
                {"model.dense_mask", QObject::tr("dense mask"), K::flag, none, QObject::tr("Attention reads an explicit mask tensor")}},
               true});
  s.push_back({QObject::tr("Plan"),
               {{"plan.dp", QObject::tr("data parallel"), K::text, {QStringLiteral("fill")}, QObject::tr("Data parallel size; \"fill\": all GPUs that tensor, pipeline and context parallel leave")},
                {"plan.tp", QObject::tr("tensor parallel"), K::integer, none, QObject::tr("Tensor parallel size; fastest inside one node")},
                {"plan.pp", QObject::tr("pipeline parallel"), K::integer, none, QObject::tr("Pipeline stages")},
                {"plan.cp", QObject::tr("context parallel"), K::integer, none, QObject::tr("Context parallel size")},
                {"plan.ep", QObject::tr("expert parallel"), K::integer, none, QObject::tr("Expert parallel size (mixture of experts)")},
                {"plan.micro_batch", QObject::tr("micro-batch, samples"), K::integer, none, QObject::tr("Samples a micro-batch and data-parallel rank")},
                {"plan.global_batch", QObject::tr("global batch, samples"), K::integer, none, QObject::tr("Samples a step; micro-batch x data parallel divides it")},
                {"plan.sharding", QObject::tr("sharding"), K::choice, words(w::kSharding), QObject::tr("How parameters, gradients and optimizer state are spread over data-parallel ranks")},
                {"plan.recompute", QObject::tr("recompute"), K::choice, words(w::kRecompute), QObject::tr("Activations that the backward pass computes again")},
                {"plan.sequence_parallel", QObject::tr("sequence parallel"), K::flag, none, QObject::tr("Activations between tensor-parallel blocks divided over the tensor-parallel ranks")},
                {"plan.schedule", QObject::tr("pipeline schedule"), K::choice, words(w::kSchedule), QString()},
                {"plan.virtual_stages", QObject::tr("virtual stages"), K::integer, none, QObject::tr("Model chunks a pipeline rank (interleaved)")}},
               true});
  s.push_back({QObject::tr("Cluster"),
               {{"cluster.builtin", QObject::tr("kind of node"), K::choice, clusters(), QObject::tr("A server by its datasheet; fields below override single figures")},
                {"cluster.file", QObject::tr("cluster file"), K::file, shipped("clusters", true), QObject::tr("A cluster file instead of a kind of node")},
                {"cluster.nodes", QObject::tr("nodes"), K::integer, none, QObject::tr("Number of equal servers")},
                {"cluster.node.gpus", QObject::tr("GPUs a node"), K::integer, none, QString()},
                {"cluster.node.nics", QObject::tr("network ports a node"), K::integer, none, QString()},
                {"cluster.node.nic.bandwidth", QObject::tr("port bandwidth"), K::quantity, none, QObject::tr("One port, one direction, for example 400 Gbit/s")},
                {"cluster.node.nic.latency", QObject::tr("port latency"), K::quantity, none, QObject::tr("For example 0.6 us")},
                {"cluster.node.nvlink.bandwidth", QObject::tr("NVLink bandwidth"), K::quantity, none, QObject::tr("One GPU's aggregate, one direction, for example 450 GB/s")},
                {"cluster.node.nvlink.latency", QObject::tr("NVLink latency"), K::quantity, none, QObject::tr("For example 2 us")},
                {"cluster.node.pcie.bandwidth", QObject::tr("PCIe bandwidth"), K::quantity, none, QString()},
                {"cluster.node.gpu.memory", QObject::tr("GPU memory"), K::quantity, none, QObject::tr("For example 80 GiB")},
                {"cluster.fabric.kind", QObject::tr("fabric"), K::choice, words(w::kFabric), QString()},
                {"cluster.fabric.nodes_per_leaf", QObject::tr("nodes a leaf switch"), K::integer, none, QString()},
                {"cluster.fabric.switch_latency", QObject::tr("switch latency"), K::quantity, none, QObject::tr("One hop")},
                {"cluster.fabric.oversubscription", QObject::tr("oversubscription"), K::number, none, QObject::tr("Leaf down-link over up-link bandwidth, at least 1")}},
               true});
  s.push_back({QObject::tr("Training"),
               {{"training.execution", QObject::tr("execution"), K::choice, words(w::kExecution), QObject::tr("eager, torch.compile or a CUDA graph")},
                {"training.compute_dtype", QObject::tr("computation"), K::choice, words(w::kFloat), QString()},
                {"training.parameter_dtype", QObject::tr("parameters"), K::choice, words(w::kFloat), QString()},
                {"training.gradient_dtype", QObject::tr("gradients"), K::choice, words(w::kFloat), QString()},
                {"training.tf32", QObject::tr("TF32 products"), K::flag, none, QObject::tr("float32 products may run on tensor cores")},
                {"training.autocast", QObject::tr("autocast"), K::flag, none, QString()},
                {"training.optimizer", QObject::tr("optimizer"), K::choice, words(w::kOptimizer), QString()},
                {"training.optimizer_fused", QObject::tr("fused optimizer"), K::flag, none, QString()},
                {"training.clip_gradients", QObject::tr("clip gradients"), K::flag, none, QString()},
                {"stack", QObject::tr("framework"), K::text, shipped("stacks", false), QObject::tr("A stack file: what a framework does of its own accord")}},
               false});
  s.push_back({QObject::tr("Sharding and buckets"),
               {{"plan.fsdp.layers_per_unit", QObject::tr("layers a FSDP unit"), K::integer, none, QString()},
                {"plan.fsdp.prefetch", QObject::tr("units gathered ahead"), K::integer, none, QString()},
                {"plan.fsdp.reshard_after_forward", QObject::tr("reshard after forward"), K::flag, none, QString()},
                {"plan.fsdp.shard_group", QObject::tr("hybrid shard group"), K::text, {QStringLiteral("node")}, QObject::tr("Ranks that share one copy")},
                {"plan.buckets.bucket", QObject::tr("gradient bucket"), K::quantity, none, QObject::tr("For example 25 MiB")},
                {"plan.buckets.overlap", QObject::tr("overlap buckets"), K::flag, none, QString()},
                {"plan.stage_layers", QObject::tr("layers of each stage"), K::text, none, QObject::tr("A list such as [10, 10, 12]; empty: an even split")}},
               false});
  s.push_back({QObject::tr("Engine"),
               {{"engine.name", QObject::tr("engine"), K::choice, words(w::kEngine), QObject::tr("fast: closed-form transfers; simgrid: every transfer a flow over shared links")},
                {"engine.full", QObject::tr("every rank"), K::flag, none, QObject::tr("Simulate every rank instead of one of each class")},
                {"profile", QObject::tr("GPU profile"), K::file, shipped("profiles", true), QObject::tr("What the GPU can do, measured or published; left out: the one that ships for the GPU")}},
               false});
  return s;
}

}  // namespace sgsim::gui
