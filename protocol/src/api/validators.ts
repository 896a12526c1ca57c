// protocol, api: JSON Schema validators and static types of all kinds. May import the folders of api and the layers below it.
import { type AgentTask, agentTask } from './agenttask/index.ts';
import { type AgentTaskOrder, agentTaskOrder } from './agenttaskorder/index.ts';
import { objectSchema, type Kind } from './crd/definition.ts';
import { energyModel, type EnergyModel } from './energymodel/index.ts';
import { expertPool, type ExpertPool } from './expertpool/index.ts';
import { expertScale, type ExpertScale } from './expertscale/index.ts';
import { poolGrant, type PoolGrant } from './poolgrant/index.ts';
import { rolloutPolicy, type RolloutPolicy } from './rollout/index.ts';

/** The part of `Ajv` that is needed here; this package brings no validator of its own. */
export interface SchemaCompiler<Validator> {
  compile(schema: object): Validator;
}

/** Options with which Ajv reads our schemas: Kubernetes' members are not JSON Schema, and defaults are filled in. */
export const ajvOptions = { strict: false, useDefaults: true, validateFormats: false } as const;

/** The static type of each kind. */
export interface Resources {
  AgentTask: AgentTask;
  AgentTaskOrder: AgentTaskOrder;
  ExpertPool: ExpertPool;
  EnergyModel: EnergyModel;
  PoolGrant: PoolGrant;
  RolloutPolicy: RolloutPolicy;
  ExpertScale: ExpertScale;
}

/**
 * Validators for whole objects. They check shape, bounds and patterns and fill in defaults, as the API server does;
 * CEL rules and unions are checked by the API server alone.
 */
export function validators<V>(compiler: SchemaCompiler<V>): Readonly<Record<keyof Resources, V>> {
  return Object.fromEntries(kinds.map((kind) => [kind.kind, compiler.compile(objectSchema(kind))])) as Record<keyof Resources, V>;
}

/** All kinds of the group, in the order in which `fleet uninstall` deletes their objects. */
export const kinds = [
  agentTask,
  agentTaskOrder,
  expertPool,
  energyModel,
  rolloutPolicy,
  poolGrant,
  expertScale,
] as const satisfies readonly Kind[];
