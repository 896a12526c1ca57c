import { Ajv, type ValidateFunction } from 'ajv';
import type { TObject } from 'typebox';
import {
  ControlResponse,
  EmbedResponse,
  GenerateResponse,
  JudgeResponse,
  PriorResponse,
  ScoreResponse,
  type ControlRequest,
  type EmbedRequest,
  type GenerateRequest,
  type JudgeRequest,
  type PriorRequest,
  type ScoreRequest,
} from '@agentfleet/protocol/inference';

/** Request and answer of each capability of an expert. */
export interface Exchanges {
  readonly Generate: { readonly request: GenerateRequest; readonly response: GenerateResponse };
  readonly Control: { readonly request: ControlRequest; readonly response: ControlResponse };
  readonly Score: { readonly request: ScoreRequest; readonly response: ScoreResponse };
  readonly Embed: { readonly request: EmbedRequest; readonly response: EmbedResponse };
  readonly Judge: { readonly request: JudgeRequest; readonly response: JudgeResponse };
  readonly Prior: { readonly request: PriorRequest; readonly response: PriorResponse };
}
export type Capability = keyof Exchanges;
/** Those of learned parts, which only advise. */
export type PartCapability = Exclude<Capability, 'Generate'>;

const schemas: Readonly<Record<Capability, TObject>> = {
  Generate: GenerateResponse,
  Control: ControlResponse,
  Score: ScoreResponse,
  Embed: EmbedResponse,
  Judge: JudgeResponse,
  Prior: PriorResponse,
};

/** Checks beyond the schema: an answer must match its request, in its order. Returns the fault, or null. */
const fits: { readonly [C in Capability]: (response: Exchanges[C]['response'], request: Exchanges[C]['request']) => string | null } = {
  // Gate 1 judges which files a candidate edits: one bad candidate must not end the attempt.
  Generate: () => null,
  Control: ({ experts }, request) => {
    const names = experts.map(({ name }) => name);
    if (!sameOrder(names, request.experts)) return `it weighs ${names.join(', ')}, not ${request.experts.join(', ')}`;
    const sum = experts.reduce((all, { p }) => all + p, 0);
    return Math.abs(sum - 1) < 1e-3 ? null : 'its weights do not sum to 1';
  },
  Score: ({ scores }, { items }) => about(scores, items),
  Embed: ({ dimensions, vectors }, { texts }) => {
    if (vectors.length !== texts.length) return `it has ${vectors.length} vectors for ${texts.length} texts`;
    return vectors.every((vector) => vector.length === dimensions) ? null : `not every vector has ${dimensions} numbers`;
  },
  Judge: ({ verdicts }, { acts }) => about(verdicts, acts),
  Prior: ({ scores }, { candidates }) => about(scores, candidates),
};

type Identified = readonly { readonly id: string }[];

function about(answers: Identified, asked: Identified): string | null {
  const same = sameOrder(
    answers.map((one) => one.id),
    asked.map((one) => one.id),
  );
  return same ? null : 'it is not about the items of the request, in their order';
}

function sameOrder(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((one, at) => one === b[at]);
}

/** Reads an answer of a capability; throws an Error that names its fault. */
type AnswerReader = <C extends Capability>(capability: C, text: string, request: Exchanges[C]['request']) => Exchanges[C]['response'];

/** Makes the reader; compiling the schemas is done once. */
export function answerReader(): AnswerReader {
  const ajv = new Ajv({ strict: false });
  const validators = new Map<Capability, ValidateFunction>();
  for (const capability of Object.keys(schemas) as Capability[]) validators.set(capability, ajv.compile(schemas[capability]));
  return (capability, text, request) => {
    const value: unknown = JSON.parse(text);
    const validate = validators.get(capability);
    if (validate === undefined || !validate(value)) {
      const [error] = validate?.errors ?? [];
      throw new Error(`${error?.instancePath || '/'} ${error?.message ?? ''}`);
    }
    const response = value as Exchanges[typeof capability]['response'];
    if (response.requestId !== request.requestId) throw new Error(`it answers ${response.requestId}, not ${request.requestId}`);
    const wrong = fits[capability](response, request);
    if (wrong !== null) throw new Error(wrong);
    return response;
  };
}
