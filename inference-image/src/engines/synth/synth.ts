import { setImmediate as yieldToEvents } from 'node:timers/promises';
import { generatingRoles, type Candidate, type GenerateRequest, type Spectrum } from '@agentfleet/protocol/inference';
import { entropyNats, type Generated } from '../../base/engine.ts';
import { alone, type Engine } from '../../base/served.ts';
import { type Entry, PoolBuilder, seededOrder, withPairs, type Cut, type Pool } from './pool.ts';
import { Drafts, example, languages, Sources, type WireEntry, proposeAt, type OpenFile, type Weigher, Wire } from './propose.ts';
import type { Grammars, SyntaxNode } from './language/syntax.ts';
import { InferenceError } from '../../base/failure.ts';
import { canonical, sha256 } from './language/edit.ts';
import { mentioned, type NodeLines } from './language/language.ts';

/** Suspicion of a line: `ochiai` 0…1, `dstar` ≥ 0 (may be Infinity) to break ties. */
interface Suspicion {
  readonly ochiai: number;
  readonly dstar: number;
}

/**
 * Ochiai: ef / √((ef + nf)(ef + ep)). R. Abreu, P. Zoeteweij, A. van Gemund, "On the Accuracy of
 * Spectrum-based Fault Localization", TAICPART-MUTATION 2007.
 *
 * @param failed failing tests that executed the line (ef)
 * @param passed passing tests that executed it (ep)
 * @param totalFailed all failing tests (ef + nf)
 */
export function ochiai(failed: number, passed: number, totalFailed: number): number {
  const divisor = Math.sqrt(totalFailed * (failed + passed));
  return divisor === 0 ? 0 : failed / divisor;
}

/**
 * DStar with exponent 2: ef² / (ep + nf). W. E. Wong, V. Debroy, R. Gao, Y. Li, "The DStar Method
 * for Effective Software Fault Localization", IEEE Transactions on Reliability 63(1), 2014.
 */
export function dstar(failed: number, passed: number, totalFailed: number): number {
  if (failed === 0) return 0;
  const divisor = passed + (totalFailed - failed);
  return divisor === 0 ? Infinity : failed ** 2 / divisor;
}

/** Suspicion of lines by the counts of the tests that executed them. */
export function suspicionOf(spectrum: Spectrum) {
  const files = new Map<string, Map<number, Suspicion>>();
  for (const { path, line, passed, failed } of spectrum.lines) {
    const lines = files.get(path) ?? new Map<number, Suspicion>();
    files.set(path, lines);
    lines.set(line, { ochiai: ochiai(failed, passed, spectrum.failed), dstar: dstar(failed, passed, spectrum.failed) });
  }
  return {
    /** Lines that no test counted: null. */
    at: (path: string, line: number): Suspicion | null => files.get(path)?.get(line) ?? null,
    /** For code that every test runs, such as the module's own statements. */
    everywhere: {
      ochiai: ochiai(spectrum.failed, spectrum.passed, spectrum.failed),
      dstar: dstar(spectrum.failed, spectrum.passed, spectrum.failed),
    },
    /** False when the request has no failing test's coverage. */
    known: spectrum.failed > 0 && spectrum.lines.some((line) => line.failed > 0),
  };
}

type LineSuspicion = ReturnType<typeof suspicionOf>;

/** Lines named in the traces of failing tests, by path; the last of a trace weighs most. */
type TraceLines = ReadonlyMap<string, ReadonlyMap<number, number>>;

/** Ranks of an unlocalised request: every line alike. */
const unknown: Suspicion = { ochiai: 0.5, dstar: 1 };
/** A line that only passing tests ran may still matter, for example where a value is made. */
const unreached = 0.02;
const traceBoost = 0.6;
/** Number of failure texts; the end of a trace is the most informative. */
const maxTexts = 128;
const maxTextChars = 16_384;

interface SiteLines extends NodeLines {
  readonly path: string;
}

/**
 * Suspicion of a statement: that of its most suspicious line. DStar breaks the ties of Ochiai with
 * a share of less than a hundredth.
 */
export function siteSuspicion(site: SiteLines, lines: LineSuspicion, traces: TraceLines): number {
  const base = lines.known ? strongest(site, lines) : unknown;
  const tie = base.dstar === Infinity ? 1 : base.dstar / (base.dstar + 1);
  let trace = 0;
  for (let line = site.from; line <= site.to; line += 1) trace = Math.max(trace, traces.get(site.path)?.get(line) ?? 0);
  return Math.max(unreached, base.ochiai + 0.009 * tie) * (1 + traceBoost * trace);
}

function strongest(site: SiteLines, lines: LineSuspicion): Suspicion {
  let best: Suspicion | null = null;
  for (let line = site.from; line <= site.to; line += 1) {
    const here = lines.at(site.path, line);
    if (here !== null && (best === null || here.ochiai > best.ochiai)) best = here;
  }
  if (best !== null && !(site.global && best.ochiai === 0)) return best;
  return site.global ? lines.everywhere : (best ?? { ochiai: 0, dstar: 0 });
}

/** `File "…/path", line 12` of Python, or `path:12`, also as `file:///path:12:5`, of others. */
const place = /File "([^"\n]{1,500})", line (\d{1,7})|(?<![^\s"'(])(?:file:\/\/)?([^\s"':(]{1,500}):(\d{1,7})\b/g;

/** Finds the places of the focus files that texts of failures name. */
export function traceLines(texts: readonly string[], paths: readonly string[]): TraceLines {
  const found = new Map<string, Map<number, number>>();
  for (const text of texts.slice(0, maxTexts).map((whole) => whole.slice(-maxTextChars))) {
    const ours = frames(text).flatMap((frame) => {
      const file = frame[1] ?? frame[3] ?? '';
      const path = paths.find((known) => file === known || file.endsWith(`/${known}`));
      return path === undefined ? [] : [{ path, line: Number(frame[2] ?? frame[4]) }];
    });
    for (const [at, { path, line }] of ours.entries()) {
      const lines = found.get(path) ?? new Map<number, number>();
      found.set(path, lines);
      lines.set(line, Math.max(lines.get(line) ?? 0, (at + 1) / ours.length));
    }
  }
  return found;
}

/** Places in a text, the innermost call last: Python's traces end with it, those of Node begin with it. */
function frames(text: string): readonly RegExpExecArray[] {
  const places = text.split('\n').map((line) => ({ isNode: /^\s*at /.test(line), found: [...line.matchAll(place)] }));
  const of = (isNode: boolean): RegExpExecArray[] => places.filter((line) => line.isNode === isNode).flatMap((line) => line.found);
  return [...of(false), ...of(true).reverse()];
}

/** Bound of one pool, and of the nodes that are visited. */
const maxEntries = 20_000;
const maxNodes = 200_000;
/** Places that no failing test reached are searched only for a pool smaller than this. */
const enough = 1000;
/** Nodes between two looks at the clock; other requests run in between. */
const nodesPerSlice = 200;
/** The same in milliseconds: of some texts a node has thousands of candidates. */
const sliceMs = 50;

interface SearchLimits {
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
    await yieldToEvents();
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

async function collect(all: readonly Site[], builder: PoolBuilder, limits: SearchLimits): Promise<Cut> {
  let since = limits.now();
  for (const [at, { node, open, weigher, place }] of all.entries()) {
    if (builder.size >= (place > unreached ? maxEntries : enough)) return 'Bound';
    if (at % nodesPerSlice === nodesPerSlice - 1 || limits.now() - since > sliceMs) {
      await yieldToEvents();
      since = limits.now();
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

interface KeptPool {
  readonly pool: Pool;
  readonly wire: Wire;
}

/** Pools that are kept; each may hold some megabytes. */
const kept = 16;

/**
 * Pools of the requests seen last. A caller asks again and again for the next k of the same program
 * state, and requests of one batch often share it: the search runs once.
 */
class PoolCache {
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

function poolKey({ files, localisation, maxEdits, seed }: GenerateRequest): string {
  return sha256(JSON.stringify([files, localisation, maxEdits, seed]));
}

interface SynthOptions {
  /** Closed with the engine. */
  readonly grammars: Grammars;
  readonly modelDigest: string;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/**
 * Search-based program repair, without a learned model: suspicious lines, small edits of the syntax
 * tree, fixed priors. It finds bugs that one small edit mends and is honest about being no more.
 */
export class SynthEngine implements Engine {
  readonly name = 'Synth';
  readonly roles = generatingRoles;
  readonly learned = false;
  readonly languages = languages.map((language) => language.name);
  readonly modelDigest: string;
  readonly #options: SynthOptions;
  readonly #sources: Sources;
  readonly #pools = new PoolCache();

  constructor(options: SynthOptions) {
    this.#options = options;
    this.#sources = new Sources(options.grammars);
    this.modelDigest = options.modelDigest;
  }

  readonly generate = alone((request: GenerateRequest, signal) => this.#generate(request, signal));

  async #generate(request: GenerateRequest, signal: AbortSignal): Promise<Generated> {
    const { now } = this.#options;
    const started = now();
    const limits = { now, deadline: started + request.budgetMillis, signal };
    const kept = await this.#pools.get(request, () => search(request, this.#sources, limits));
    const chosen = await choose(kept, request, this.#sources);
    const { pool } = kept;
    return {
      ...chosen,
      truncated: pool.cut !== null,
      stats: { parsed: pool.parsed, considered: pool.entries.length, millis: Math.round(now() - started) },
    };
  }

  async prove(): Promise<void> {
    const [outcome] = await this.generate([example], new AbortController().signal);
    if (outcome === undefined || 'error' in outcome) throw new Error('it refused the built-in example', { cause: outcome?.error });
    const repaired = outcome.answer.candidates.some((candidate) => candidate.edits[0]?.after === '+');
    if (!repaired) throw new Error('it did not find the repair of the built-in example');
  }

  close(): Promise<void> {
    return this.#sources.close();
  }
}

type Chosen = Pick<Generated, 'candidates' | 'returnedMass' | 'exhausted' | 'entropyNats' | 'margin'>;

/** The first k candidates that were not tried and that parse. */
async function choose(kept: KeptPool, request: GenerateRequest, sources: Sources): Promise<Chosen> {
  const drafts = new Drafts(request, sources);
  try {
    return await chooseFrom(kept, request, drafts);
  } finally {
    drafts.close();
  }
}

async function chooseFrom({ pool, wire }: KeptPool, request: GenerateRequest, drafts: Drafts): Promise<Chosen> {
  const excluded = new Set(request.exclude);
  const open = pool.entries.filter((entry) => excluded.size === 0 || !excluded.has(wire.of(entry).id));
  const candidates: Candidate[] = [];
  const broken = new Set<Entry>();
  let at = 0;
  for (; at < open.length && candidates.length < request.k; at += 1) {
    const entry = open[at] as Entry;
    if (await drafts.accepts(entry)) candidates.push(candidateOf(entry, wire.of(entry), candidates.length + 1, pool.mass, request));
    else broken.add(entry);
    await yieldToEvents();
  }
  const weights = open.filter((entry) => !broken.has(entry)).map((entry) => entry.weight);
  const returnedMass = candidates.reduce((sum, candidate) => sum + candidate.score, 0);
  const exhausted = at === open.length && pool.cut !== 'Deadline';
  return { candidates, returnedMass, exhausted, entropyNats: entropyNats(weights), margin: marginOf(candidates) };
}

function marginOf([first, second]: readonly Candidate[]): number | null {
  return first?.energy === undefined || second?.energy === undefined ? null : second.energy - first.energy;
}

function candidateOf(entry: Entry, { id, edits }: WireEntry, rank: number, mass: number, request: GenerateRequest): Candidate {
  const { operator, rationale, row, column } = entry;
  const path = request.files[entry.file]?.path ?? '';
  const location = { path, line: row + 1, column };
  return { id, rank, score: entry.weight / mass, energy: -Math.log(entry.weight), edits, operator, rationale, location };
}
