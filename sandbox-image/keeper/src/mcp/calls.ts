import {
  mcpBounds,
  type AstEditRequest,
  type ExecRequest,
  type LinesQuery,
  type ListQuery,
  type McpToolName,
  type PatchRequest,
  type ReplaceRequest,
  type SearchQuery,
} from '@agentfleet/protocol/keeper';
import { compare, editTree, lines, list, patchFiles, replaceText, restore, search, take, writeWhole } from '../http/operations.ts';
import type { Keeper } from '../keeper.ts';
import { outcomeOf, type CommandOutcome } from './outcome.ts';

/** One call of a tool. */
export interface McpCall {
  readonly keeper: Keeper;
  /** Lets a changing call in, as the routes do. @throws KeeperError */
  readonly admit: () => Promise<number>;
  readonly newId: () => string;
  /** Fires when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** Arguments of a tool that fit its schema. */
export type Arguments = Readonly<Record<string, unknown>>;

type Handler = (call: McpCall, args: Arguments) => Promise<object>;

/** Query parameters are texts. */
function texts(args: Arguments): Record<string, string> {
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, String(value)]));
}

async function run(call: McpCall, tool: 'ExecCode' | 'Shell', { waitSeconds, execId, ...args }: Arguments): Promise<CommandOutcome> {
  const epoch = await call.admit();
  const id = typeof execId === 'string' ? execId : call.newId();
  const source = await call.keeper.parts.executor.start({ execId: id, tool, ...args } as ExecRequest, epoch);
  return watch(call, { execId: id, from: 1, waitSeconds }, source);
}

async function wait(call: McpCall, { execId, from, waitSeconds }: Arguments): Promise<CommandOutcome> {
  const source = await call.keeper.parts.executor.find(String(execId));
  return watch(call, { execId: String(execId), from: Number(from ?? 1), waitSeconds }, source);
}

function watch(
  { keeper, signal }: McpCall,
  { execId, from, waitSeconds }: { readonly execId: string; readonly from: number; readonly waitSeconds: unknown },
  source: Parameters<typeof outcomeOf>[0],
): Promise<CommandOutcome> {
  const { clock, redaction } = keeper.parts;
  const waitMs = Number(waitSeconds ?? mcpBounds.defaultWaitSeconds) * 1000;
  return outcomeOf(source, { execId, from, waitMs, clock, redacting: redaction.open(), signal });
}

async function write({ keeper, admit }: McpCall, args: Arguments): Promise<object> {
  const { path, content, mode, syntax = 'Check' } = args as { path: string; content: string; mode?: string; syntax?: 'Check' | 'Skip' };
  const bytes = Buffer.from(content, 'utf8');
  return writeWhole(keeper, { epoch: await admit(), path, mode, content: bytes, bytes: bytes.length, syntax });
}

/** The tools, each by the handler of the keeper's own route: the same gate, fence, log and redaction. */
export const calls: Readonly<Record<McpToolName, Handler>> = {
  exec_code: (call, args) => run(call, 'ExecCode', args),
  shell: (call, args) => run(call, 'Shell', args),
  wait,
  read: ({ keeper }, args) => lines(keeper, texts(args) as LinesQuery),
  list: ({ keeper }, args) => list(keeper, texts(args) as ListQuery),
  search: ({ keeper, signal }, args) => search(keeper, texts(args) as SearchQuery, signal),
  write,
  str_replace: async ({ keeper, admit }, args) => replaceText(keeper, await admit(), args as ReplaceRequest),
  apply_patch: async ({ keeper, admit, newId }, args) =>
    patchFiles(keeper, await admit(), { requestId: newId(), ...args } as unknown as PatchRequest),
  ast_edit: async ({ keeper, admit }, args) => editTree(keeper, await admit(), args as AstEditRequest),
  snapshot: async ({ keeper, admit }, { label }) => take(keeper, await admit(), label as string | undefined),
  restore: async ({ keeper, admit }, { id }) => restore(keeper, await admit(), String(id)),
  diff: ({ keeper }, { from, to = 'current' }) => compare(keeper, { from: String(from), to: String(to) }),
};
