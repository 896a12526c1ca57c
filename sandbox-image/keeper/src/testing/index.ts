/**
 * Shared parts of the keeper's tests: a cluster's signing key, a runner that speaks the real protocol, a whole keeper.
 * Never imported by production code.
 */
export { echo, echoing, killable } from './behaviour.ts';
export { FakeRunner } from './fake-runner.ts';
export { type Harness, type HarnessOptions, podUid, startHarness, ulid } from './harness.ts';
export { issuer, Signer, subject } from '@agentfleet/protocol/tokens/testing';
export { acceleratedClock } from './accelerated-clock.ts';
export { buildRunner, KeeperProcess, RealRunner } from './real-runner.ts';
export { waitUntil } from './wait.ts';
