// Engines that take turns on a GPU: the process that says which of them is awake, and their own side of it. Nothing of what is
// served is known here; of engines only that they sleep, wake and can be looked at.
export { NoTurnError, TurnstileClient } from './client.ts';
export { readAwaitTurn, readTurnstile, turnsOf, type TurnsConfig } from './config.ts';
export { awaitTurn, awaitTurnWord, bearerOf, runTurnstile, turnstileWord, type RunningTurnstile } from './run.ts';
