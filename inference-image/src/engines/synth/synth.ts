import { setImmediate as yieldToEvents } from 'node:timers/promises';
import { generatingRoles, type Candidate, type GenerateRequest } from '@agentfleet/protocol/inference';
import { entropyNats, each, type Engine, type Generated, type Outcome } from '../../base/engine.ts';
import type { Entry } from './pool.ts';
import { Drafts, example, type WireEntry } from './propose.ts';
import { PoolCache, type KeptPool, search } from './search.ts';
import { languages, Sources } from './languages.ts';
import type { Grammars } from './language/syntax.ts';

export interface SynthOptions {
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

  generate(batch: readonly GenerateRequest[], signal: AbortSignal): Promise<readonly Outcome[]> {
    return each(batch, (request) => this.#generate(request, signal));
  }

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
    const repaired = outcome.generated.candidates.some((candidate) => candidate.edits[0]?.after === '+');
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
