import { Ajv, type ValidateFunction } from 'ajv';
import { Type, type TObject } from 'typebox';
import {
  controlBounds,
  embedBounds,
  Features,
  judgeBounds,
  policyLabels,
  priorBounds,
  scoreBounds,
  type ControlRequest,
  type ControlResponse,
  type EmbedRequest,
  type EmbedResponse,
  type JudgeRequest,
  type JudgeResponse,
  type PriorRequest,
  type PriorResponse,
  type ScoreRequest,
  type ScoreResponse,
  Edit,
  generateBounds,
  ShellAct,
  type GenerateRequest,
  type GenerateResponse,
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

/** JSON has no NaN and no infinity, so that every number of an answer is finite; bounds are those of its meaning. */
const number = Type.Number();
const share = Type.Number({ minimum: 0, maximum: 1 });
const orNull = (type: typeof number) => Type.Union([type, Type.Null()]);
const answered = { requestId: Type.String(), modelDigest: Type.String({ pattern: '^sha256:[0-9a-f]{64}$' }) };
const id = Type.String({ maxLength: 128 });

const candidate = Type.Object({
  id: Type.String({ pattern: '^sha256:[0-9a-f]{64}$' }),
  rank: Type.Integer({ minimum: 1 }),
  score: Type.Number({ minimum: 0, maximum: 1 }),
  energy: Type.Optional(number),
  edits: Type.Array(Edit, { maxItems: 64 }),
  acts: Type.Optional(Type.Array(ShellAct, { maxItems: 16 })),
  operator: Type.String({ maxLength: 256 }),
  rationale: Type.String({ maxLength: 4096 }),
  location: Type.Object({ path: Type.String({ maxLength: 1024 }), line: number, column: number }),
});

const schemas: Readonly<Record<Capability, TObject>> = {
  Generate: Type.Object({
    requestId: Type.String(),
    engine: Type.String({ maxLength: 256 }),
    modelDigest: Type.String({ maxLength: 256 }),
    candidates: Type.Array(candidate, { maxItems: generateBounds.maxCandidates }),
    returnedMass: number,
    exhausted: Type.Boolean(),
    truncated: Type.Boolean(),
    entropyNats: number,
    margin: Type.Union([number, Type.Null()]),
    stats: Type.Object({ parsed: number, considered: number, millis: number }),
  }),
  Control: Type.Object({
    ...answered,
    tick: Type.Integer({ minimum: 0 }),
    experts: Type.Array(Type.Object({ name: Type.String({ maxLength: 63 }), p: share }), { maxItems: controlBounds.maxExperts }),
    risk: share,
    deliberate: Type.Boolean(),
    shadow: Type.Union([Type.String({ maxLength: 1024 }), Type.Null()]),
  }),
  Score: Type.Object({
    ...answered,
    scores: Type.Array(Type.Object({ id, energy: number, model: number, features: number, pSuccess: orNull(share) }), {
      maxItems: scoreBounds.maxItems,
    }),
    reads: Type.Array(Type.Enum(Object.keys(Features.properties) as (keyof Features)[])),
    calibration: Type.Optional(Type.Union([Type.String({ maxLength: 128 }), Type.Null()])),
  }),
  Embed: Type.Object({
    ...answered,
    dimensions: Type.Integer({ minimum: 1, maximum: 65_536 }),
    vectors: Type.Array(Type.Array(number), { maxItems: embedBounds.maxTexts }),
  }),
  Judge: Type.Object({
    ...answered,
    verdicts: Type.Array(
      Type.Object({ id, label: Type.Enum([...policyLabels]), unsafe: share, rule: Type.Union([Type.String(), Type.Null()]) }),
      { maxItems: judgeBounds.maxActs },
    ),
  }),
  Prior: Type.Object({
    ...answered,
    scores: Type.Array(Type.Object({ id, gainNats: orNull(number) }), { maxItems: priorBounds.maxCandidates }),
    truncated: Type.Boolean(),
    tokens: Type.Integer({ minimum: 0 }),
    millis: Type.Number({ minimum: 0 }),
  }),
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
