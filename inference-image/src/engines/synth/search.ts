import { setImmediate as yieldToEvents } from 'node:timers/promises';
import type { GenerateRequest } from '@agentfleet/protocol/inference';
import { InferenceError } from '../../base/failure.ts';
import { canonical, sha256 } from './language/edit.ts';
import { siteSuspicion, suspicionOf, traceLines, unreached } from './localise.ts';
import { PoolBuilder, seededOrder, withPairs, type Cut, type Pool } from './pool.ts';
import { proposeAt, type OpenFile, type Weigher, Wire } from './propose.ts';
import type { Sources } from './languages.ts';
import { mentioned } from './language/language.ts';
import type { SyntaxNode } from './language/syntax.ts';

/** Bound of one pool, and of the nodes that are visited. */
const maxEntries = 20_000;
const maxNodes = 200_000;
/** Places that no failing test reached are searched only for a pool smaller than this. */
const enough = 1000;
/** Nodes between two looks at the clock; other requests run in between. */
const nodesPerSlice = 200;

export interface SearchLimits {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly deadline: number;
  readonly signal: AbortSignal;
}

/**
 * Returns every candidate for the focus files of a request, weighted and ordered. Pure but for the deadline: a search
 * that was not truncated depends only on the request.
 *
 * @throws InferenceError `AF_LANGUAGE_UNSUPPORTED` when no focus file can be edited.
 */
export async function search(request: GenerateRequest, sources: Sources, limits: SearchLimits): Promise<Pool> {
  const files = await readFiles(request, sources);
  const builder = new PoolBuilder();
  const cut = await collect(sites(request, files), builder, limits);
  const order = seededOrder(request.seed);
  const single = builder.build(files.length, cut, order);
  if (request.maxEdits === 1) return single;
  const keyOf = pairKey(request);
  for (const pair of withPairs(single, keyOf)) builder.add(pair);
  return builder.build(files.length, cut, order);
}

async function readFiles(request: GenerateRequest, sources: Sources): Promise<readonly OpenFile[]> {
  const parsed: OpenFile[] = [];
  for (const [index, { path, content }] of request.files.entries()) {
    const source = await sources.of(path);
    const tree = source?.parser.parse(content) ?? null;
    if (source === null || tree === null) continue;
    const { language } = source;
    parsed.push({ index, path, source: content, root: tree.root, language, file: language.open(content, tree.root) });
  }
  if (parsed.length > 0) return parsed;
  const message = 'files: none of them is Python, JavaScript or TypeScript that can be parsed';
  throw new InferenceError('AF_LANGUAGE_UNSUPPORTED', message, { field: 'files' });
}

interface Site {
  readonly node: SyntaxNode;
  readonly open: OpenFile;
  readonly weigher: Weigher;
  readonly place: number;
}

/** The nodes of all files, the most suspicious lines first: a search that is cut short has seen them. */
function sites(request: GenerateRequest, files: readonly OpenFile[]): readonly Site[] {
  const { spectrum, failingTests } = request.localisation;
  const lines = suspicionOf(spectrum);
  const traces = traceLines(
    failingTests.flatMap((test) => [test.trace ?? '', test.message]),
    files.map((file) => file.path),
  );
  const words = mentioned(failingTests);
  const all: Site[] = [];
  for (const open of files) {
    const { path, language } = open;
    const suspicion: Weigher['suspicion'] = (at) => siteSuspicion({ path, ...at }, lines, traces);
    const weigher: Weigher = { suspicion, symptom: language.symptoms(failingTests), isMentioned: (word) => words.has(word) };
    for (const node of open.root.walk(language.skipped)) {
      if (all.length >= maxNodes) break;
      if (node.named) all.push({ node, open, weigher, place: suspicion(language.lines(node)) });
    }
  }
  return all.sort((a, b) => b.place - a.place);
}

/** Fills the builder until all is seen or something ends it. */
async function collect(all: readonly Site[], builder: PoolBuilder, limits: SearchLimits): Promise<Cut> {
  for (const [at, { node, open, weigher, place }] of all.entries()) {
    if (builder.size >= (place > unreached ? maxEntries : enough)) return 'Bound';
    if (at % nodesPerSlice === nodesPerSlice - 1) {
      await yieldToEvents();
      if (limits.signal.aborted) throw new InferenceError('AF_CANCELLED', 'the caller left');
      if (limits.now() > limits.deadline) return 'Deadline';
    }
    for (const entry of proposeAt(node, place, open, weigher)) builder.add(entry);
  }
  return null;
}

function pairKey(request: GenerateRequest): Parameters<typeof withPairs>[1] {
  return (index, edits) => {
    const edit = canonical(request.files[index]?.content ?? '', edits);
    return edit === null ? `${index}:same` : `${index}:${edit.start}:${edit.end}:${edit.after}`;
  };
}

/** A pool and the wire form of its entries. */
export interface KeptPool {
  readonly pool: Pool;
  readonly wire: Wire;
}

/** Pools that are kept; each may hold some megabytes. */
const kept = 16;

/**
 * Pools of the requests seen last. A caller asks again and again for the next k of the same program
 * state, and requests of one batch often share it: the search runs once.
 */
export class PoolCache {
  readonly #pools = new Map<string, KeptPool>();

  async get(request: GenerateRequest, make: () => Promise<Pool>): Promise<KeptPool> {
    const key = poolKey(request);
    const known = this.#pools.get(key);
    this.#pools.delete(key);
    const found = known ?? { pool: await make(), wire: new Wire(request) };
    // A pool cut by a deadline would differ the next time.
    if (found.pool.cut !== 'Deadline') this.#pools.set(key, found);
    const oldest = this.#pools.size > kept ? this.#pools.keys().next() : undefined;
    if (oldest?.done === false) this.#pools.delete(oldest.value);
    return found;
  }
}

/** Returns everything that a pool depends on. */
function poolKey({ files, localisation, maxEdits, seed }: GenerateRequest): string {
  return sha256(JSON.stringify([files, localisation, maxEdits, seed]));
}
