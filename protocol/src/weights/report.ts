import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';

const size = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
const pattern = '^sha256:[0-9a-f]{64}$';
const digest = Type.String({ pattern });

/** Why weights cannot be used. */
export const weightsFaults = ['NotFound', 'Refused', 'Unreachable', 'DigestMismatch', 'TokenizerMismatch', 'Unreadable', 'NoRoom'] as const;
export type WeightsFault = (typeof weightsFaults)[number];

/** What the job that fetches and reads weights says at its end, as JSON in its termination message: at most 4,096 bytes. */
export const WeightsReport = Type.Union([
  Type.Object(
    {
      format: Type.Literal('agentfleet.dev/weights/v1'),
      digest: Type.String({ pattern, description: 'of all files with their names' }),
      bytes: size,
      files: size,
      weightBytes: Type.Integer({ minimum: 1, description: 'of the tensors, as they are stored' }),
      architecture: Type.Union([
        Type.Object(
          {
            layers: size,
            heads: Type.Optional(size),
            kvHeads: size,
            headSize: size,
            hiddenSize: size,
            feedForwardSize: size,
            vocabulary: size,
          },
          { additionalProperties: false },
        ),
        Type.Null(),
      ]),
      tokenizerHash: Type.Union([digest, Type.Null()]),
    },
    { additionalProperties: false },
  ),
  Type.Object(
    {
      format: Type.Literal('agentfleet.dev/weights/v1'),
      fault: Type.Enum([...weightsFaults]),
      message: Type.String({ minLength: 1, maxLength: 1000 }),
    },
    { additionalProperties: false },
  ),
]);
export type WeightsReport = Static<typeof WeightsReport>;
export type FoundWeights = Exclude<WeightsReport, { readonly fault: WeightsFault }>;

/** Reads a termination message; undefined for anything else that a container may have said. */
export function weightsReportOf(message: string | undefined): WeightsReport | undefined {
  try {
    const value: unknown = JSON.parse(message ?? '');
    return Value.Check(WeightsReport, value) ? value : undefined;
  } catch {
    return undefined;
  }
}
