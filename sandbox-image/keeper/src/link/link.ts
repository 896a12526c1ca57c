import type { CommandMessage, RunnerInfo, SessionMessage, ToRunner } from './messages.ts';

export interface LinkState {
  /** True from the runner's `info` on: before it nothing is known of the wall. */
  readonly connected: boolean;
  readonly instance: string | null;
  /** Authenticated links since the keeper started. */
  readonly connections: number;
  readonly info: RunnerInfo | null;
}

export interface LinkEvents {
  connected(instance: string, info: RunnerInfo): void;
  lost(instance: string, why: string): void;
  /** While the returned promise is pending the runner is not read: that is the backpressure. */
  message(message: CommandMessage | SessionMessage): Promise<void> | undefined;
}

/** The runner as the rest of the keeper sees it. */
export interface RunnerLink {
  readonly state: LinkState;
  /** One subscriber, set once at start. */
  subscribe(events: LinkEvents): void;
  /** Does nothing without a link; the `lost` event tells. @throws FrameError for a frame over a limit */
  send(message: ToRunner, body?: Uint8Array): void;
  /** Tells the runner to exit and takes no link from this instance again. */
  retire(code: number, why: string): void;
}
