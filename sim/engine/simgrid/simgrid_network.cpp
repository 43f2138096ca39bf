#include "sim/engine/simgrid/network.h"

#include <csignal>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

#include <cmath>
#include <utility>

#include "sim/cluster/topology.h"
#include "sim/core/error.h"

namespace sgsim::engine {
namespace {

namespace s4u = simgrid::s4u;

// SimGrid sizes are whole numbers: flows count in 1/1024 byte, so that the rounding of a size stays below any measured error.
constexpr double kUnitsPerByte = 1024.0;

// A cap of this many units a second never binds.
constexpr double kUncapped = 1e30;

/// Every option of the network model that touches a result. CM02 without its factors is plain max-min sharing: the
/// default model (LV08) multiplies latency by 13.01 and bandwidth by 0.97 and lets acknowledgements take bandwidth.
/// surf/precision: events closer than this (s) are one. The default of 1e-9 s would round microsecond transfers; it must
/// stay above the spacing of doubles at the end of a step (9e-13 s at an hour).
constexpr const char* kOptions[] = {
    "network/model:CM02",     "network/latency-factor:1", "network/bandwidth-factor:1", "network/crosstraffic:0",
    "network/weight-S:0",     "network/TCP-gamma:1e20",   "network/optim:Lazy",         "network/loopback-lat:0",
    "surf/precision:1e-12",   "maxmin/precision:1e-9",    "maxmin/concurrency-limit:-1",
};

std::unique_ptr<s4u::Engine> make_engine() {
  std::vector<std::string> words{"sgsim", "--log=xbt_cfg.thresh:warning"};
  for (const char* option : kOptions) words.push_back(std::string("--cfg=") + option);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  int count = static_cast<int>(arguments.size());
  auto engine = std::make_unique<s4u::Engine>(&count, arguments.data());
  std::signal(SIGINT, SIG_DFL);  // its own handler goes on among half-destroyed activities, with a warning for each
  return engine;
}

class SimgridNetwork final : public Network {
 public:
  explicit SimgridNetwork(const cluster::Cluster& cluster);
  ~SimgridNetwork() override;
  std::uint32_t add_channel(std::span<const FlowPath> paths) override;
  [[nodiscard]] double now() const override;
  void start(std::uint32_t channel, double bytes, double seconds) override;
  void slow_down(std::uint32_t channel, double factor) override;
  [[nodiscard]] double next_end() override;
  void advance(double time) override;
  [[nodiscard]] std::vector<std::uint32_t> take_ended() override;
  [[nodiscard]] std::vector<std::string> settings() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct SimgridNetwork::State {
  struct Channel {
    s4u::Link* cap = nullptr;
    std::vector<s4u::Host*> sources;   // one a flow; its route holds the whole path
    double share = 1.0;
    double rate = 0.0;                 // units/s of one flow, undisturbed
    double cap_rate = 0.0;             // as the link has it
    std::uint32_t running = 0;
    std::vector<s4u::CommPtr> flows;
  };

  std::unique_ptr<s4u::Engine> engine;
  cluster::Cluster cluster;
  cluster::Topology topology;
  s4u::NetZone* zone = nullptr;
  s4u::Host* sink = nullptr;
  std::vector<s4u::Link*> links;       // by LinkId; null until a route needs it
  std::vector<Channel> channels;
  std::vector<std::uint32_t> ended;
  bool sealed = false;
  bool stale = true;                   // `next` must be asked again
  double next = kNever;

  s4u::Link* link(LinkId id) {
    s4u::Link*& link = links[id.value];
    if (link == nullptr) {
      const cluster::Link& spec = topology.links[id.value];
      link = zone->create_link(spec.name, spec.spec.bandwidth.value() * kUnitsPerByte);
    }
    return link;
  }

  void flow_ended(std::uint32_t channel) {
    if (--channels[channel].running == 0) ended.push_back(channel);
  }
};

SimgridNetwork::SimgridNetwork(const cluster::Cluster& cluster) : state_(std::make_unique<State>()) {
  state_->engine = make_engine();
  state_->cluster = cluster;
  state_->topology = cluster::build_topology(cluster);
  state_->links.resize(state_->topology.links.size(), nullptr);
  state_->zone = s4u::create_star_zone("fabric");
  state_->sink = state_->zone->create_host("sink", 1.0);
  state_->zone->add_route(nullptr, state_->sink->get_netpoint(), nullptr, nullptr, std::vector<s4u::LinkInRoute>{}, false);
  s4u::Activity::on_completion_cb([state = state_.get()](const s4u::Activity& activity) {
    const auto* data = static_cast<const s4u::Comm&>(activity).get_data<void>();
    state->flow_ended(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(data)));
  });
}

SimgridNetwork::~SimgridNetwork() = default;

std::uint32_t SimgridNetwork::add_channel(std::span<const FlowPath> paths) {
  State& s = *state_;
  SGSIM_CHECK(!s.sealed && !paths.empty(), "channels are added before the first start");
  const auto index = static_cast<std::uint32_t>(s.channels.size());
  State::Channel channel;
  channel.share = paths.front().share;
  channel.cap = s.zone->create_link("cap" + std::to_string(index), kUncapped);
  channel.cap->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE);  // each flow gets the whole cap
  channel.cap_rate = kUncapped;
  const bool trunks = s.cluster.fabric.oversubscription > 1.0;
  for (const FlowPath& path : paths) {
    SGSIM_CHECK(path.share == channel.share, "flows of a channel carry equal shares");
    std::vector<s4u::LinkInRoute> links{s4u::LinkInRoute(channel.cap)};
    const std::vector<LinkId> route = cluster::route(s.cluster, s.topology, path.from, path.to);
    for (std::size_t l = 0; l < route.size(); ++l) {
      const bool trunk = l > 0 && l + 1 < route.size();
      if (!trunk || trunks) links.emplace_back(s.link(route[l]));
    }
    s4u::Host* source = s.zone->create_host("c" + std::to_string(index) + "." + std::to_string(channel.sources.size()), 1.0);
    s.zone->add_route(source->get_netpoint(), nullptr, nullptr, nullptr, links, false);
    channel.sources.push_back(source);
  }
  s.channels.push_back(std::move(channel));
  return index;
}

double SimgridNetwork::now() const { return s4u::Engine::get_clock(); }

void SimgridNetwork::start(std::uint32_t channel, double bytes, double seconds) {
  State& s = *state_;
  if (!s.sealed) {
    s.zone->seal();
    s.sealed = true;
  }
  State::Channel& c = s.channels[channel];
  SGSIM_CHECK(c.running == 0, "a channel carries one operation at a time");
  const double units = std::max(1.0, std::round(bytes * c.share * kUnitsPerByte));
  c.rate = units / seconds;
  if (c.cap_rate != c.rate) {
    c.cap->set_bandwidth(c.rate);
    c.cap_rate = c.rate;
  }
  c.flows.clear();
  for (s4u::Host* source : c.sources) {
    s4u::CommPtr flow = s4u::Comm::sendto_init();
    flow->set_payload_size(static_cast<std::uint64_t>(units));
    flow->set_data(reinterpret_cast<void*>(static_cast<std::uintptr_t>(channel)));
    flow->set_source(source);
    flow->set_destination(s.sink);  // starts it: all that it needs is known
    c.flows.push_back(std::move(flow));
    ++c.running;
  }
  s.stale = true;
}

void SimgridNetwork::slow_down(std::uint32_t channel, double factor) {
  State::Channel& c = state_->channels[channel];
  const double rate = c.rate / factor;
  if (rate == c.cap_rate) return;
  c.cap->set_bandwidth(rate);
  c.cap_rate = rate;
  state_->stale = true;
}

double SimgridNetwork::next_end() {
  State& s = *state_;
  if (!s.stale) return s.next;
  s.next = kNever;
  for (simgrid::kernel::resource::Model* model : s.engine->get_all_models()) {
    const double delay = model->next_occurring_event(now());
    if (delay >= 0.0) s.next = std::min(s.next, now() + delay);
  }
  s.stale = false;
  return s.next;
}

void SimgridNetwork::advance(double time) {
  State& s = *state_;
  if (time <= now() && time < next_end()) return;
  do {
    s.engine->run_until(time);  // may return early, at an event close before `time`
  } while (now() < time);
  s.stale = true;
}

std::vector<std::uint32_t> SimgridNetwork::take_ended() { return std::exchange(state_->ended, {}); }

std::vector<std::string> SimgridNetwork::settings() const {
  std::vector<std::string> all{"SimGrid " + std::to_string(SIMGRID_VERSION_MAJOR) + "." + std::to_string(SIMGRID_VERSION_MINOR)};
  for (const char* option : kOptions) all.emplace_back(option);
  all.emplace_back("platform latency: 0 (an operation's latency passes before its flows start)");
  return all;
}

}  // namespace
}  // namespace sgsim::engine

/// The module's one entry point.
extern "C" sgsim::engine::Network* sgsim_make_network(const sgsim::cluster::Cluster& cluster) {
  return std::make_unique<sgsim::engine::SimgridNetwork>(cluster).release();
}
