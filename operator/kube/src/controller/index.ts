/** From changes to reconciles. Imports api, cache, queue, runtime. */
export {
  Controller,
  type ControllerOptions,
  type ReadinessGate,
  type Reconcile,
  type ReconcileContext,
  type Outcome,
  TerminalError,
  done,
  requeueAfter,
} from './controller.ts';
export {
  type Change,
  type Predicate,
  allOf,
  annotationsChanged,
  anyOf,
  generationChanged,
  labelsChanged,
  versionChanged,
  type Enqueue,
  type Source,
  type WatchSourceOptions,
  channel,
  toController,
  watches,
} from './source.ts';
