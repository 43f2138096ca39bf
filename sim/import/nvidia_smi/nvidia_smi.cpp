#include "sim/import/nvidia_smi/nvidia_smi.h"

#include <charconv>

#include <fmt/format.h>

#include "sim/cluster/builders.h"
#include "sim/core/error.h"
#include "sim/import/nccl_topo/gpu_names.h"
#include "sim/import/whole_file.h"

namespace sgsim::import::nvidia_smi {
namespace {

constexpr int kMostLinks = 18;                  // NVLinks of any GPU up to B200
constexpr BytesPerSecond kLink{25e9};           // NVLink 2 to 4, one direction (V100, A100, H100 datasheets)
constexpr std::size_t kLargest = std::size_t{16} << 20;

struct Matrix {
  std::vector<std::string> columns;                       // "GPU0", "NIC0", "mlx5_0"
  std::map<std::string, std::vector<std::string>> rows;   // cells by column
};

/// Without terminal colours (nvidia-smi underlines the header).
std::string plain(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      while (i < line.size() && line[i] != 'm') ++i;
    } else if (line[i] != '\r') {
      out += line[i];
    }
  }
  return out;
}

std::vector<std::string> words(std::string_view line) {
  std::vector<std::string> result;
  std::size_t at = 0;
  while (at < line.size()) {
    while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
    const std::size_t begin = at;
    while (at < line.size() && line[at] != ' ' && line[at] != '\t') ++at;
    if (at > begin) result.emplace_back(line.substr(begin, at - begin));
  }
  return result;
}

bool is_gpu(std::string_view name) { return name.starts_with("GPU") && name.size() > 3 && name.find_first_not_of("0123456789", 3) == std::string_view::npos; }

/// The header's device columns: all words up to "CPU Affinity".
bool header_of(const std::vector<std::string>& line, std::vector<std::string>& columns) {
  if (line.empty() || line.front() != "GPU0" || (line.size() > 1 && line[1] == "X")) return false;
  for (const std::string& word : line) {
    if (word == "CPU" || word == "NUMA" || word == "GPU") break;
    columns.push_back(word);
  }
  return true;
}

Matrix matrix_of(std::string_view text, const std::string& file, std::string& gpu_name) {
  Matrix matrix;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string line = plain(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    const std::vector<std::string> parts = words(line);
    if (gpu_name.empty() && line.starts_with("GPU 0: ")) gpu_name = line.substr(7, line.find(" (UUID") - 7);
    if (matrix.columns.empty()) {
      (void)header_of(parts, matrix.columns);
      continue;
    }
    const bool known = !parts.empty() && std::find(matrix.columns.begin(), matrix.columns.end(), parts.front()) != matrix.columns.end();
    if (!known || matrix.rows.contains(parts.front())) continue;
    if (parts.size() < matrix.columns.size() + 1) {
      throw InputError({.file = file, .where = fmt::format("line {}", number), .found = fmt::format("{} cells for {}", parts.size() - 1, parts.front()),
                        .expected = fmt::format("{}, one for each column of the header", matrix.columns.size()), .hint = "save the output of nvidia-smi topo -m as it is"});
    }
    matrix.rows[parts.front()].assign(parts.begin() + 1, parts.begin() + 1 + static_cast<std::ptrdiff_t>(matrix.columns.size()));
  }
  return matrix;
}

/// "NV12" -> 12; 0 for other connections.
int links_of(std::string_view cell) {
  int links = 0;
  if (!cell.starts_with("NV")) return 0;
  (void)std::from_chars(cell.data() + 2, cell.data() + cell.size(), links);
  return std::max(0, std::min(links, 1024));
}

struct Links {
  int most = 0, least = 1 << 20;         // in one cell, of the cells with NVLink
  std::size_t peers = 0;                 // most peers of one GPU
  int sum = 0;                           // most links of one GPU, added up
  bool all_pairs = true;
};

Links links_between(const Matrix& matrix, ImportedTopology& result) {
  Links links;
  for (const auto& [row, cells] : matrix.rows) {
    if (!is_gpu(row)) continue;
    std::size_t peers = 0;
    int sum = 0;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (!is_gpu(matrix.columns[c]) || matrix.columns[c] == row) continue;
      const int count = links_of(cells[c]);
      result.report.add("import.nvidia_smi." + std::string(count > 0 ? "nvlink_pair" : "other_pair"), Severity::info, fmt::format("{} {} {}", row, matrix.columns[c], cells[c]));
      links.all_pairs = links.all_pairs && count > 0;
      if (count == 0) continue;
      ++peers;
      sum += count;
      links.most = std::max(links.most, count);
      links.least = std::min(links.least, count);
    }
    links.peers = std::max(links.peers, peers);
    links.sum = std::max(links.sum, sum);
  }
  return links;
}

void set_links(const Matrix& matrix, ImportedTopology& result) {
  const Links links = links_between(matrix, result);
  cluster::Node& node = result.cluster.node;
  if (links.most == 0) {
    node.intra = cluster::IntraNode::pcie;
    return;
  }
  // Through switches nvidia-smi shows all of a GPU's links towards every peer; more than a GPU can have, added up.
  const bool switched = links.all_pairs && links.peers > 1 && links.sum > kMostLinks;
  node.intra = switched ? cluster::IntraNode::nvswitch : links.peers == 1 ? cluster::IntraNode::nvlink_pairs : cluster::IntraNode::nvlink_mesh;
  node.nvlink = {.bandwidth = static_cast<double>(switched ? links.most : links.sum) * kLink, .latency = Seconds(0.5e-6)};
  result.report.add("import.nvidia_smi.link_bandwidth", Severity::warning, fmt::format("{} links a GPU at 25 GB/s a direction each, hop 0.5 us: the matrix has neither", switched ? links.most : links.sum));
  if (links.least != links.most) result.report.add("import.nvidia_smi.uneven_links", Severity::warning, fmt::format("pairs of {} to {} links", links.least, links.most));
}

void set_gpu(const std::string& name, ImportedTopology& result) {
  const std::string_view builtin = nccl_topo::builtin_of_name(name);
  cluster::Gpu& gpu = result.cluster.node.gpu;
  if (!builtin.empty()) {
    gpu = cluster::builtin_cluster(builtin, 1)->node.gpu;
    result.report.add("import.nvidia_smi.gpu_memory", Severity::warning, "memory of " + gpu.name + " from its datasheet");
    return;
  }
  gpu.name = name.empty() ? "unknown" : name;
  result.report.add("import.nvidia_smi.gpu_unknown", Severity::warning, gpu.name + ": no profile and no memory size; put the output of nvidia-smi -L in front, or set node.gpu");
}

Imported read(const std::vector<std::string>& paths, const Progress&) {
  if (paths.size() != 1) {
    throw InputError({.file = paths.at(1), .where = "", .found = fmt::format("{} topologies in one import", paths.size()), .expected = "one file", .hint = "import each by itself"});
  }
  Diagnostics packing;
  ImportedTopology result = parse(read_whole(paths.front(), "nvidia_smi", packing, kLargest), paths.front());
  result.report.merge(packing);
  return result;
}

}  // namespace

ImportedTopology parse(std::string_view text, const std::string& file) {
  ImportedTopology result;
  result.format = "nvidia_smi";
  std::string gpu_name;
  const Matrix matrix = matrix_of(text, file, gpu_name);
  int gpus = 0, nics = 0;
  for (const std::string& column : matrix.columns) {
    if (!matrix.rows.contains(column)) {
      throw InputError({.file = file, .where = "", .found = "a column " + column + " without its row", .expected = "the whole matrix of nvidia-smi topo -m", .hint = ""});
    }
    (is_gpu(column) ? gpus : nics) += 1;
  }
  if (gpus == 0) throw InputError({.file = file, .where = "", .found = "no header line with GPU0", .expected = "the matrix of nvidia-smi topo -m", .hint = ""});
  result.report.add("import.nvidia_smi.gpu", Severity::info, fmt::format("{} GPUs", gpus), static_cast<std::uint64_t>(gpus));
  if (nics > 0) result.report.add("import.nvidia_smi.nic", Severity::info, fmt::format("{} network ports", nics), static_cast<std::uint64_t>(nics));
  cluster::Cluster& cluster = result.cluster;
  const std::size_t slash = file.find_last_of('/');
  cluster.name = cluster.node.name = slash == std::string::npos ? file : file.substr(slash + 1);
  cluster.nodes = 1;
  cluster.fabric.kind = cluster::FabricKind::none;
  cluster.node.gpus = gpus;
  cluster.node.nics = nics;
  set_gpu(gpu_name, result);
  set_links(matrix, result);
  cluster.node.pcie = {.bandwidth = BytesPerSecond(31.5e9), .latency = Seconds(1e-6)};
  result.report.add("import.nvidia_smi.pcie_speed", Severity::warning, "PCIe 4.0 x16, 31.5 GB/s: the matrix has no speeds");
  if (nics > 0) result.report.add("import.nvidia_smi.nic_speed", Severity::warning, "the matrix has no speed of its network ports; set node.nic");
  return result;
}

Format format() {
  return {.name = "nvidia_smi",
          .description = "the matrix that nvidia-smi topo -m prints",
          .confidence = [](const FileHead& head) {
            std::string_view rest = head.bytes;
            std::vector<std::string> columns;
            for (int line = 0; line < 2000 && !rest.empty(); ++line) {
              const std::size_t end = std::min(rest.find('\n'), rest.size());
              if (header_of(words(plain(rest.substr(0, end))), columns)) return 80;
              rest.remove_prefix(std::min(end + 1, rest.size()));
            }
            return 0;
          },
          .read = read,
          .one_by_one = true};
}

}  // namespace sgsim::import::nvidia_smi
