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
} from '@agentfleet/protocol/inference';

/** Request and answer of each capability of a learned part. */
export interface Exchanges {
  readonly Control: { readonly request: ControlRequest; readonly response: ControlResponse };
  readonly Score: { readonly request: ScoreRequest; readonly response: ScoreResponse };
  readonly Embed: { readonly request: EmbedRequest; readonly response: EmbedResponse };
  readonly Judge: { readonly request: JudgeRequest; readonly response: JudgeResponse };
  readonly Prior: { readonly request: PriorRequest; readonly response: PriorResponse };
}
export type PartCapability = keyof Exchanges;

/** JSON has no NaN and no infinity, so that every number of an answer is finite; bounds are those of its meaning. */
const number = Type.Number();
const share = Type.Number({ minimum: 0, maximum: 1 });
const orNull = (type: typeof number) => Type.Union([type, Type.Null()]);
const answered = { requestId: Type.String(), modelDigest: Type.String({ pattern: '^sha256:[0-9a-f]{64}$' }) };
const id = Type.String({ maxLength: 128 });

const schemas: Readonly<Record<PartCapability, TObject>> = {
  Control: Type.Object({
    ...answered,
    tick: Type.Integer({ minimum: 0 }),
    tools: Type.Object({ ExecCode: share, Shell: share, Files: share, Editor: share }),
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

/** What no schema can say: an answer is about its request, in the order of it. Gives what is wrong, or null. */
const fits: { readonly [C in PartCapability]: (response: Exchanges[C]['response'], request: Exchanges[C]['request']) => string | null } = {
  Control: ({ experts, tools }, request) => {
    const names = experts.map(({ name }) => name);
    if (!sameOrder(names, request.experts)) return `it weighs ${names.join(', ')}, not ${request.experts.join(', ')}`;
    const sums = [experts.reduce((sum, { p }) => sum + p, 0), tools.ExecCode + tools.Shell + tools.Files + tools.Editor];
    return sums.every((sum) => Math.abs(sum - 1) < 1e-3) ? null : 'its weights do not sum to 1';
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

/** Reads an answer of a capability; throws an Error that names what is wrong with it. */
export type PartReader = <C extends PartCapability>(
  capability: C,
  text: string,
  request: Exchanges[C]['request'],
) => Exchanges[C]['response'];

/** Makes the reader; compiling the schemas is done once. */
export function partReader(): PartReader {
  const ajv = new Ajv({ strict: false });
  const validators = new Map<PartCapability, ValidateFunction>();
  for (const capability of Object.keys(schemas) as PartCapability[]) validators.set(capability, ajv.compile(schemas[capability]));
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
