#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QString>
#include <QStringList>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

namespace sgsim::gui {

/// Why a job failed: the chain of causes, outermost first.
struct Failure {
  QStringList chain;
  [[nodiscard]] QString text() const { return chain.join(QLatin1Char('\n')); }
};
/// Of the exception in flight, with those nested in it.
[[nodiscard]] Failure failureOf(const std::exception_ptr& error);

class Job;

/// What the work sees of its job; safe from any thread.
class JobControl {
 public:
  [[nodiscard]] bool cancelled() const { return cancelled_.load(); }
  /// A person wants it to end now with what it has (Job::windUp), or not at all any more.
  [[nodiscard]] bool stopping() const { return stopping_.load() || cancelled_.load(); }
  /// Reports `done` of `total` with a word about it. Cheap: at most 30 a second pass.
  void progress(double done, double total, const std::string& text = {});

 private:
  friend class Job;
  std::atomic<bool> cancelled_{false}, stopping_{false};
  std::mutex mutex_;
  Job* job_ = nullptr;   // nothing once the job lets go
  QElapsedTimer last_;
};

/// Work off the GUI thread, one at a time: starting anew, cancelling or destroying lets go of the work before, whose result is
/// then dropped. The window never waits for a thread; work that looks at JobControl::cancelled ends soon.
class Job : public QObject {
  Q_OBJECT
 public:
  explicit Job(QString name, QObject* parent = nullptr);
  ~Job() override;

  [[nodiscard]] const QString& name() const { return name_; }
  [[nodiscard]] bool running() const { return control_ != nullptr; }
  /// Seconds since the start, and expected until the end (negative: unknown).
  [[nodiscard]] double elapsed() const;
  [[nodiscard]] double remaining() const;
  [[nodiscard]] double fraction() const { return fraction_; }
  [[nodiscard]] const QString& text() const { return text_; }

  /// `work` runs on a thread of its own; `done` on this one, unless the work failed or was let go.
  template <class Result>
  void start(std::function<Result(JobControl&)> work, std::function<void(Result)> done) {
    run([work = std::move(work), done = std::move(done)](JobControl& control) -> std::function<void()> {
      auto result = std::make_shared<Result>(work(control));
      return [done, result] { done(std::move(*result)); };
    });
  }
  void cancel();
  /// Asks the work to end with what it has; its result still arrives. Work that never looks at JobControl::stopping goes on.
  void windUp();
  [[nodiscard]] bool windingUp() const;

  /// Threads at work in the whole program, those let go included.
  [[nodiscard]] static int threads();

 Q_SIGNALS:
  void started();
  void progressed();
  void failed(const sgsim::gui::Failure& failure);
  void ended();           // in any way

 private:
  friend class JobControl;
  using Work = std::function<std::function<void()>(JobControl&)>;
  void run(Work work);
  void letGo();
  void finish(const std::shared_ptr<JobControl>& control, const std::function<void()>& done, const std::exception_ptr& error);
  void report(const JobControl* control, double fraction, const QString& text);

  QString name_, text_;
  std::shared_ptr<JobControl> control_;
  QElapsedTimer timer_;
  double fraction_ = 0.0;
  double phase_ = 0.0;    // seconds after the start at which the present phase began: where the fraction fell
};

}  // namespace sgsim::gui
