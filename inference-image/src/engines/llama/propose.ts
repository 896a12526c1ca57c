import { Ajv } from 'ajv';
import type { Candidate, GenerateRequest } from '@agentfleet/protocol/inference';
import { candidateId } from '../candidateId.ts';
import { entropyNats } from '../distribution.ts';
import type { Generated } from '../engine.ts';
import { promptTokens, replySchema } from './prompt.ts';
import type { Limits } from './prior.ts';
import { lineEdit } from './reply.ts';
import { suspects, type Suspect } from '../suspects.ts';
import type { Model, Token } from './library.ts';

/** What writes one reply that fits the schema. */
export interface Writer {
  readonly tokenize: Model['tokenize'];
  /** The likeliest text that the grammar allows; null when it is not ended after `maxTokens` or at the deadline. */
  write(prompt: Token[], maxTokens: number, stop: () => boolean): Promise<Reply | null>;
  readonly contextTokens: number;
}

export interface Reply {
  readonly text: string;
  readonly tokens: number;
  /** ln p of the text after the prompt, nats, as the model sees it without the grammar. */
  readonly logLikelihood: number;
}

/** Tokens that one reply and one request may cost. */
export const replyTokens = 96;
export const requestTokens = 1024;

const validate = new Ajv().compile<{ text: string }>(replySchema);

type Found = Omit<Candidate, 'rank' | 'score'> & { readonly energy: number };

/**
 * Rewrites the most suspicious lines one by one, each greedily: at most one candidate per line. A model of this size
 * seldom repairs anything; what it writes is judged like all candidates.
 */
export async function propose(request: GenerateRequest, writer: Writer, { now, signal }: Limits): Promise<Generated> {
  const started = now();
  const late = (): boolean => signal.aborted || now() - started >= request.budgetMillis;
  const found = new Map<string, Found>();
  const excluded = new Set(request.exclude);
  const open = (): readonly Found[] => [...found.values()].filter(({ id }) => !excluded.has(id));
  // Lines that answered with nothing new need others in their place.
  const lines = suspects(request, 2 * request.k + excluded.size);
  let [tokens, asked] = [0, 0];
  for (; asked < lines.length && open().length < request.k && !late() && tokens + replyTokens <= requestTokens; asked += 1) {
    const suspect = lines[asked] as Suspect;
    const prompt = promptTokens(writer, request, suspect);
    if (prompt.length + replyTokens > writer.contextTokens) continue;
    const reply = await writer.write(prompt, replyTokens, late);
    tokens += reply?.tokens ?? replyTokens;
    const candidate = reply === null ? null : candidateOf(request, suspect, reply);
    if (candidate !== null && !found.has(candidate.id)) found.set(candidate.id, candidate);
  }
  signal.throwIfAborted();
  return ranked([...found.values()], excluded, {
    request,
    truncated: asked < lines.length && open().length < request.k,
    millis: Math.round(now() - started),
  });
}

function candidateOf({ files }: GenerateRequest, { file, line }: Suspect, { text, logLikelihood }: Reply): Found | null {
  const focus = files[file];
  const value = parsed(text);
  const edit = focus === undefined || value === null ? null : lineEdit(focus, line, value.text);
  if (edit === null) return null;
  const location = { path: edit.path, line, column: 0 };
  const rationale = `A small language model rewrote line ${line} of ${edit.path}.`;
  return { id: candidateId([edit]), energy: -logLikelihood, edits: [edit], operator: 'llama-line', rationale, location };
}

function parsed(text: string): { readonly text: string } | null {
  try {
    const value: unknown = JSON.parse(text);
    return validate(value) ? value : null;
  } catch {
    return null;
  }
}

interface Outline {
  readonly request: GenerateRequest;
  readonly truncated: boolean;
  readonly millis: number;
}

function ranked(found: readonly Found[], excluded: ReadonlySet<string>, { request, truncated, millis }: Outline): Generated {
  const least = Math.min(...found.map(({ energy }) => energy));
  const mass = found.reduce((sum, { energy }) => sum + Math.exp(least - energy), 0);
  const shared = found.map((candidate) => ({ ...candidate, score: Math.exp(least - candidate.energy) / mass }));
  const open = shared.filter(({ id }) => !excluded.has(id)).sort((a, b) => a.energy - b.energy || (a.id < b.id ? -1 : 1));
  const candidates = open.slice(0, request.k).map((candidate, at) => ({ ...candidate, rank: at + 1 }));
  const [first, second] = candidates;
  return {
    candidates,
    returnedMass: candidates.reduce((sum, { score }) => sum + score, 0),
    exhausted: !truncated && candidates.length === open.length && candidates.length < request.k,
    truncated,
    entropyNats: entropyNats(open.map(({ score }) => score)),
    margin: first === undefined || second === undefined ? null : second.energy - first.energy,
    stats: { parsed: 0, considered: found.length, millis },
  };
}
