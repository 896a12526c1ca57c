/**
 * Data that the operator gives a model gateway: `models.json`, its places in the pod, and the audience of its callers' tokens.
 * May import `environment` and `object`.
 */
import { Type, type Static } from 'typebox';
import { closed } from '../object.ts';

const name = Type.String({ minLength: 1, maxLength: 253 });
const file = Type.String({ pattern: '^/' });

/** Price per million tokens, decimal strings in the pool's currency. */
export const Price = closed({
  input: Type.String({ pattern: '^[0-9]+(\\.[0-9]+)?$' }),
  cachedInput: Type.String({ pattern: '^[0-9]+(\\.[0-9]+)?$' }),
  output: Type.String({ pattern: '^[0-9]+(\\.[0-9]+)?$' }),
});
export type Price = Static<typeof Price>;

/** Engines that answer chats. `OpenAI` is any server of that API, the pool's own engines of vLLM too. */
export const chatEngines = ['OpenAI', 'Anthropic', 'Replay'] as const;
export type ChatEngine = (typeof chatEngines)[number];

/** One model behind the gateway. */
export const GatewayModel = closed({
  name: Type.String({ minLength: 1, maxLength: 63, description: 'of the expert; `model` of requests' }),
  engine: Type.Enum([...chatEngines]),
  baseURLs: Type.Optional(
    Type.Array(Type.String({ pattern: '^https?://' }), {
      minItems: 1,
      description: 'with their path, as …/v1; several are replicas of one model, chosen by conversation, then by load',
    }),
  ),
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'its name at the provider' })),
  credentialFile: Type.Optional(file),
  caFile: Type.Optional(file),
  proxy: Type.Optional(Type.String({ pattern: '^https?://' })),
  recording: Type.Optional(Type.String({ pattern: '^/', description: 'folder of a Replay' })),
  fallback: Type.Optional(name),
  maxOutputTokens: Type.Integer({ minimum: 1 }),
  requestsPerMinute: Type.Optional(Type.Integer({ minimum: 1 })),
  concurrency: Type.Integer({ minimum: 1 }),
  timeoutSeconds: Type.Integer({ minimum: 1 }),
  price: Type.Optional(Price),
});
export type GatewayModel = Static<typeof GatewayModel>;

/** Content of `models.json`. */
export const GatewayModels = closed({
  format: Type.Literal('agentfleet.dev/gateway/v1'),
  models: Type.Array(GatewayModel, { minItems: 1, maxItems: 64 }),
});
export type GatewayModels = Static<typeof GatewayModels>;

/** Places in the pod of a gateway. */
export const gatewayFiles = {
  models: '/etc/agentfleet/gateway/models.json',
  credentials: '/etc/agentfleet/gateway-credentials',
  authorities: '/etc/agentfleet/gateway-authorities',
  recordings: '/etc/agentfleet/gateway-recordings',
} as const;

/** Variable with the place of `models.json`; default: `gatewayFiles.models`. */
export const gatewayModelsVariable = 'AGENTFLEET_GATEWAY_MODELS';

/** Port of the gateway. */
export const gatewayPort = 8090;

/** First argument of the inference server's process that serves as a gateway. */
export const gatewayWord = 'gateway';

/** Audience of the tokens that the gateway of a pool takes, requested by a worker for itself. */
export function gatewayAudience(namespace: string, pool: string): string {
  return `agentfleet-gateway:${namespace}/${pool}`;
}
