import { Type, type Static } from 'typebox';
import { isolationLevels } from '../keeper/info.ts';

const name = Type.String({ minLength: 1, maxLength: 253 });

/** Where one expert answers `/v1/generate`. */
export const ExpertEndpoint = Type.Object(
  {
    name,
    role: Type.Enum(['Generalist', 'Specialist']),
    domains: Type.Array(Type.String({ minLength: 1, maxLength: 63 }), { minItems: 1, description: '* is everything' }),
    url: Type.String({ pattern: '^https?://', description: 'origin, without a path' }),
  },
  { additionalProperties: false },
);
export type ExpertEndpoint = Static<typeof ExpertEndpoint>;

/** Where artifacts go. */
export const ArtifactPlace = Type.Union([
  Type.Object(
    {
      type: Type.Literal('S3'),
      uri: Type.String({ pattern: '^s3://', description: 'bucket and prefix' }),
      endpoint: Type.String({ pattern: '^https?://' }),
      region: Type.String({ minLength: 1 }),
      forcePathStyle: Type.Boolean(),
      credentialFile: Type.Optional(
        Type.String({ pattern: '^/', description: 'file with the access key id, a colon and the secret key; absent: anonymous' }),
      ),
    },
    { additionalProperties: false },
  ),
  Type.Object(
    { type: Type.Literal('Volume'), path: Type.String({ pattern: '^/', description: 'folder of a mounted volume' }), claim: name },
    { additionalProperties: false },
  ),
]);
export type ArtifactPlace = Static<typeof ArtifactPlace>;

/** Content of the key `pool.json`. */
export const PoolBrief = Type.Object(
  {
    format: Type.Literal('agentfleet.dev/pool/v1'),
    pool: Type.Object({ name, namespace: name }, { additionalProperties: false }),
    namespaces: Type.Array(name, { description: 'whose tasks the workers watch, sorted' }),
    experts: Type.Array(ExpertEndpoint),
    storage: ArtifactPlace,
    minIsolation: Type.Enum([...isolationLevels]),
    allowUnenforcedNetwork: Type.Boolean(),
    maxBudget: Type.Object(
      { wallSeconds: Type.Optional(Type.Integer({ minimum: 1 })), toolCalls: Type.Optional(Type.Integer({ minimum: 1 })) },
      { additionalProperties: false, description: 'what a task gets that names no bound, and the most that one may name' },
    ),
  },
  { additionalProperties: false },
);
export type PoolBrief = Static<typeof PoolBrief>;
