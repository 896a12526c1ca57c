/**
 * The keeper's side of the link to the runner (`LINK.md`). Knows frames and keys, but no journals of commands. May
 * import `base`, `client`, `snapshot` and protocol.
 */
export { encodeFrame, frameLimits, FrameParser } from './frame.ts';
export type { LinkEvents } from './connection.ts';
export type {
  CommandMessage,
  ExecFrame,
  RunFrame,
  RunnerEnd,
  RunnerInfo,
  SessionFrame,
  SessionMessage,
  ShellAfter,
  StreamBytes,
} from './messages.ts';
export { LinkServer, type RunnerLink } from './server.ts';
