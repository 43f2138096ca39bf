#include "gui/session/job.h"

#include <QMetaObject>
#include <exception>
#include <thread>
#include <typeinfo>

#include "sim/core/error.h"

namespace sgsim::gui {
namespace {

std::atomic<int> threads_at_work{0};

void collect(const std::exception& error, QStringList& chain) {
  if (dynamic_cast<const InternalError*>(&error) != nullptr) {
    chain << QObject::tr("A bug in SGSim: %1").arg(QString::fromStdString(error.what()));
  } else if (const auto* input = dynamic_cast<const InputError*>(&error)) {
    const InputProblem& p = input->problem();
    chain << QObject::tr("Bad input%1%2").arg(p.file.empty() ? QString() : QObject::tr(" in %1").arg(QString::fromStdString(p.file)),
                                              p.where.empty() ? QString() : QObject::tr(", at %1").arg(QString::fromStdString(p.where)));
    chain << QObject::tr("found %1").arg(p.found.empty() ? QObject::tr("nothing") : QString::fromStdString(p.found));
    if (!p.expected.empty()) chain << QObject::tr("expected %1").arg(QString::fromStdString(p.expected));
    if (!p.hint.empty()) chain << QString::fromStdString(p.hint);
  } else {
    chain << QString::fromStdString(error.what());
  }
  try {
    std::rethrow_if_nested(error);
  } catch (const std::exception& inner) {
    collect(inner, chain);
  } catch (...) {
    chain << QObject::tr("an unknown cause");
  }
}

}  // namespace

Failure failureOf(const std::exception_ptr& error) {
  Failure failure;
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    failure.chain << QObject::tr("Out of memory");
  } catch (const std::exception& e) {
    collect(e, failure.chain);
  } catch (...) {
    failure.chain << QObject::tr("An unknown failure");
  }
  return failure;
}

void JobControl::progress(double done, double total, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (job_ == nullptr || (last_.isValid() && last_.elapsed() < 33 && done < total)) return;
  last_.start();
  QMetaObject::invokeMethod(job_, [job = job_, self = this, fraction = total > 0.0 ? done / total : 0.0, words = QString::fromStdString(text)] { job->report(self, fraction, words); }, Qt::QueuedConnection);
}

Job::Job(QString name, QObject* parent) : QObject(parent), name_(std::move(name)) {}

Job::~Job() { letGo(); }

int Job::threads() { return threads_at_work.load(); }

void Job::letGo() {
  if (!control_) return;
  const std::lock_guard lock(control_->mutex_);
  control_->cancelled_ = true;
  control_->job_ = nullptr;
}

void Job::cancel() {
  if (!control_) return;
  letGo();
  control_.reset();
  Q_EMIT ended();
}

double Job::elapsed() const { return timer_.isValid() ? static_cast<double>(timer_.elapsed()) * 1e-3 : 0.0; }

double Job::remaining() const { return fraction_ > 0.02 ? (elapsed() - phase_) * (1.0 - fraction_) / fraction_ : -1.0; }

void Job::windUp() {
  if (control_) control_->stopping_ = true;
}

bool Job::windingUp() const { return control_ && control_->stopping_; }

void Job::run(Work work) {
  letGo();
  auto control = std::make_shared<JobControl>();
  control->job_ = this;
  control_ = control;
  fraction_ = phase_ = 0.0;
  text_.clear();
  timer_.start();
  ++threads_at_work;
  std::thread([control, work = std::move(work)]() mutable {
    std::function<void()> done;
    std::exception_ptr error;
    try {
      done = work(*control);
    } catch (...) {
      error = std::current_exception();
    }
    work = {};
    {
      const std::lock_guard lock(control->mutex_);
      if (Job* job = control->job_; job != nullptr) {
        QMetaObject::invokeMethod(job, [job, control, done = std::move(done), error] { job->finish(control, done, error); }, Qt::QueuedConnection);
      }
    }
    --threads_at_work;
  }).detach();
  Q_EMIT started();
}

void Job::finish(const std::shared_ptr<JobControl>& control, const std::function<void()>& done, const std::exception_ptr& error) {
  if (control != control_) return;  // let go since
  letGo();
  control_.reset();
  if (error) {
    Q_EMIT failed(failureOf(error));
  } else {
    done();
  }
  Q_EMIT ended();
}

void Job::report(const JobControl* control, double fraction, const QString& text) {
  if (control != control_.get()) return;
  if (fraction < fraction_) phase_ = elapsed();
  fraction_ = fraction;
  text_ = text;
  Q_EMIT progressed();
}

}  // namespace sgsim::gui
