/** What is injected everywhere: clock, random, log, errors, metrics. Imports nothing of this package. */
export {
  Backoff,
  type BackoffOptions,
  type Random,
  reconnectBackoff,
  reflectorBackoff,
  type Clock,
  type Timer,
  microTimestamp,
  sleep,
  systemClock,
  timestamp,
  type Deadline,
  deadline,
} from './clock.ts';
export * from './errors.ts';
export * from './log.ts';
