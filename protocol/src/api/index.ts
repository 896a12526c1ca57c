/**
 * The custom resources of `agentfleet.dev`: schemas, static types, CRDs and admission policies from one source.
 * May import the layers below it (`keeper`, `inference`, `trace` …); is imported by everything that reads or writes our objects.
 */
export * from './agenttask/index.ts';
export * from './agenttaskorder/index.ts';
export { customResourceDefinition, objectSchema } from './crd/definition.ts';
export type { Column, Kind } from './crd/definition.ts';
export { kindReference } from './crd/reference.ts';
export {
  CalibrationStatus,
  defaultLambda,
  energyModel,
  EnergyModelSpec,
  EnergyModelStatus,
  maxModelArms,
  Thresholds,
  type EnergyModel,
} from './energymodel/index.ts';
export * from './expertpool/index.ts';
export * from './expertscale/index.ts';
export * from './base/group.ts';
export { kinds, ajvOptions, validators, type Resources, type SchemaCompiler } from './validators.ts';
export { addMoney, costInMicros, fromMicros, toMicros, type PricedTokens } from './base/money.ts';
export { Condition, type ObjectMeta, type OwnerReference, type Resource } from './base/meta.ts';
export * from './base/placement.ts';
export * from './poolgrant/index.ts';
export * from './reasons/index.ts';
export * from './policies/index.ts';
export * from './rollout/index.ts';
export { mutabilityKey, mutabilityOf, rulesKey, rulesOf, type Mutability, type Rule } from './schema/index.ts';
export * from './base/tools.ts';
