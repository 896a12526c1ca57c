import type {
  Capability,
  ControlRequest,
  ControlResponse,
  EmbedRequest,
  EmbedResponse,
  EngineType,
  GenerateRequest,
  GeneratingRole,
  InferenceInfo,
  JudgeRequest,
  JudgeResponse,
  PriorRequest,
  PriorResponse,
  ScoreRequest,
  ScoreResponse,
} from '@agentfleet/protocol/inference';
import type { Generated } from './engine.ts';
import { createHash } from 'node:crypto';
import { glob, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** An engine's answer to one request of a batch. */
export type Answer<T> = { readonly answer: T } | { readonly error: unknown };

/**
 * Answers the requests of one batch, in their order; the refusal of one leaves the others alone. An answer never
 * depends on the other requests.
 */
export type Ability<Request, Result> = (batch: readonly Request[], signal: AbortSignal) => Promise<readonly Answer<Result>[]>;

type Own<Response> = Omit<Response, 'requestId' | 'modelDigest' | 'shadow'>;

/** Request and the engine's part of the answer, by capability; the server adds request and model. */
export interface Exchanges {
  readonly Generate: { readonly request: GenerateRequest; readonly result: Generated };
  readonly Prior: { readonly request: PriorRequest; readonly result: Own<PriorResponse> };
  readonly Control: { readonly request: ControlRequest; readonly result: Own<ControlResponse> };
  readonly Score: { readonly request: ScoreRequest; readonly result: Own<ScoreResponse> };
  readonly Embed: { readonly request: EmbedRequest; readonly result: Own<EmbedResponse> };
  readonly Judge: { readonly request: JudgeRequest; readonly result: Own<JudgeResponse> };
}

export type Abilities = { readonly [C in Capability]?: Ability<Exchanges[C]['request'], Exchanges[C]['result']> };

/** Facts of `/v1/info` that the engine itself knows. `modelDigest` is of everything that determines the answers: code and weights or record. */
type EngineFacts = Pick<InferenceInfo, 'roles' | 'modelDigest' | 'learned' | 'languages' | 'shadow' | 'about' | 'calibration'>;

/** The engine of one server. */
export interface ServedEngine extends EngineFacts {
  readonly name: EngineType;
  readonly abilities: Abilities;
  /** Proves by a separate example what the general example of a capability cannot. @throws Error when that fails */
  prove?(): Promise<void>;
  /** Its memory as reported when it was last proved; undefined: unknown. */
  memory?(): InferenceInfo['memory'];
  close(): Promise<void>;
}

/** Runs one request after the other: the answer to one is the same in any batch. */
export function alone<Request, Result>(run: (request: Request, signal: AbortSignal) => Result | Promise<Result>): Ability<Request, Result> {
  return async (batch, signal) => {
    const answers: Answer<Result>[] = [];
    for (const request of batch) {
      try {
        answers.push({ answer: await run(request, signal) });
      } catch (error) {
        answers.push({ error });
      }
    }
    return answers;
  };
}

/** An engine that generates candidates. Long searches give way to other work at least every few milliseconds. */
export interface Engine extends Pick<ServedEngine, 'name' | 'modelDigest' | 'learned' | 'languages' | 'memory' | 'close'> {
  readonly roles: readonly GeneratingRole[];
  readonly generate: Ability<GenerateRequest, Generated>;
  /** Generates a real answer to a small built-in example. @throws Error when that fails */
  prove(): Promise<void>;
}

/** Wraps a generating engine, with its other abilities. */
export function generating(
  engine: Engine,
  more: { readonly abilities?: Abilities; readonly about?: InferenceInfo['about'] } = {},
): ServedEngine {
  const { name, roles, modelDigest, learned, languages } = engine;
  return {
    name,
    roles,
    modelDigest,
    learned,
    languages,
    shadow: null,
    about: more.about ?? {},
    abilities: { Generate: (batch, signal) => engine.generate(batch, signal), ...more.abilities },
    prove: () => engine.prove(),
    memory: () => engine.memory?.(),
    close: () => engine.close(),
  };
}

/**
 * Returns the digest of an engine's code and weights: `sha256:` over names and contents in the order of the names.
 * Inside the image the code is the bundle; from the sources it is the engine's folder without tests.
 *
 * @param folder the engine's folder, when run from the sources
 * @param weights files that determine answers besides the code
 * @param settings other text that determines them
 */
export async function codeDigest(folder: string, weights: readonly string[], settings = ''): Promise<string> {
  const own = import.meta.filename;
  const sources = own.endsWith('.ts') ? await sourcesOf(join(dirname(own), '../engines', folder)) : [own];
  return digestOf([...sources, ...weights], readFile, settings);
}

/** `sha256:` over names and contents of files, in the order given, and over settings. */
export async function digestOf(files: readonly string[], read: (file: string) => Promise<Buffer>, settings = ''): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) {
    const content = await read(file);
    hash.update(`${basename(file)}\n${content.length}\n`).update(content);
  }
  return `sha256:${hash.update(settings).digest('hex')}`;
}

async function sourcesOf(folder: string): Promise<readonly string[]> {
  const files: string[] = [];
  for await (const name of glob('**/*.ts', { cwd: folder }))
    if (!name.endsWith('.test.ts') && !name.includes('evaluation/')) files.push(name);
  return files.sort().map((name) => join(folder, name));
}
