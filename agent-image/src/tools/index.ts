/**
 * The tools of a model, one a file, listed in `registry.ts`; names, descriptions and schemas are in
 * `@agentfleet/protocol/chat`. A tool executes a call and describes the result in plain text; it judges nothing: gates,
 * snapshots, bounds of observations and the log belong to the loop.
 *
 * May import `attempt`, `checks`, `egress`, `protocol` and the keeper's client; never `loop` or `models`.
 */
export {
  plain,
  ArgumentError,
  namedChanges,
  type BackgroundProcess,
  type Observation,
  type Submission,
  type Tool,
  type ToolContext,
  type UndoPoint,
} from './tool.ts';
export { McpServers, nothingListed, type McpListing } from './mcp.ts';
export { findShell, programsOf } from './bash.ts';
export { putBack } from './undo.ts';
export { toolsFor, type ToolSet } from './registry.ts';
