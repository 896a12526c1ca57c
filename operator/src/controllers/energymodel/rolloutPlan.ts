import { type RolloutReport, drainSecondsOf, revisionOf, isOpen } from '../../revisions/index.ts';
import { isControlledBy } from '@agentfleet/kube';
import { defaultLambda, type EnergyModel } from '@agentfleet/protocol/api';
import { energyHeads } from '@agentfleet/protocol/inference';
import { revisionRecordName, rolloutLedgerName, verifierName } from '../../pools/names.ts';
import { type ControllerRevision, identity, resources } from '../../runtime/resources.ts';
import { ownedBy, type Manifest } from '../../operands/manifest.ts';
import type { ModelArm, RecordedModel, ServedModel, ModelPlan, ModelSnapshot } from './snapshot.ts';
import { rolledOut } from '../../serving/index.ts';
import { lookMs, recordKeys, recordNumber } from '../expertpool/rolloutPlan.ts';

/** Returns the served part of a spec; thresholds, demands and number of pods are policy, which holds for all revisions at once. Pure. */
function servedOf({ artifact, lambda, heads, resources }: EnergyModel['spec']): ServedModel {
  const own = new Map((heads ?? []).map((head) => [head.name, head.lambda]));
  return {
    artifact,
    lambda,
    // Written out, so that a revision stays what it was when defaults change.
    heads: energyHeads.map((name) => ({ name, lambda: own.get(name) ?? defaultLambda[name] })),
    ...(resources.container === undefined ? {} : { container: resources.container }),
  };
}

/** The model as one of its revisions has it, under the policy of now. Pure. */
export function asArm(model: EnergyModel, { served }: Pick<ModelArm, 'served'>): EnergyModel {
  const { artifact, lambda, heads, container } = served;
  const { container: _, ...wanted } = model.spec.resources;
  const resources = { ...wanted, ...(container === undefined ? {} : { container }) };
  return { ...model, spec: { ...model.spec, artifact, lambda, heads: [...heads], resources } };
}

/** Revisions that a model has on record. Pure. */
export function recordedModels(model: EnergyModel, records: readonly ControllerRevision[]): ReadonlyMap<string, RecordedModel> {
  const own = records.filter((record) => isControlledBy(record, model));
  const arms = own.flatMap(({ data, revision: number = 0 }): readonly RecordedModel[] => {
    const { revision, served, image } = (data ?? {}) as Partial<ModelArm>;
    return revision === undefined || served === undefined || image === undefined ? [] : [{ revision, served, image, number }];
  });
  return new Map(arms.map((arm) => [arm.revision, arm]));
}

/** The record of a revision. Pure. */
export function modelRecord(model: EnergyModel, labels: Readonly<Record<string, string>>, record: RecordedModel): Manifest {
  const { revision, served, image, number } = record;
  const name = revisionRecordName(model.metadata.name, 'model', revision);
  return ownedBy(model, resources.controllerRevisions, { name, labels }, { revision: number, data: { revision, served, image } });
}

/** Reports whether an unfinished task is judged by a revision. */
export type InUse = (revision: string) => boolean;

/** The revision that the spec asks for. Pure. */
export function desiredModel({ model, image, recorded }: Pick<ModelSnapshot, 'model' | 'image' | 'recorded'>): RecordedModel {
  const served = servedOf(model.spec);
  // Another order in the spec is no other revision.
  const revision = revisionOf(model.metadata.uid ?? '', { served, image });
  return { revision, served, image, number: recordNumber(recorded, revision) };
}

const plainDeployment = ({ metadata }: ModelSnapshot['model']): string => identity(resources.deployments, verifierName(metadata.name));
const ledgerKey = ({ metadata }: ModelSnapshot['model']): string =>
  identity(resources.configMaps, rolloutLedgerName(metadata.name, 'model'));

const hasPods = ({ deployments, model }: ModelSnapshot, { revision }: ModelArm): boolean =>
  deployments?.has(verifierName(model.metadata.name, revision)) === true;

/** Plans the parts of a model in a rollout: which revisions have pods, and what is kept. Undefined: it is unknown what serves. Pure. */
export function modelPlan(snapshot: ModelSnapshot, status: RolloutReport, inUse: InUse, now: number): ModelPlan | undefined {
  const { model, recorded, deployment } = snapshot;
  const desired = desiredModel(snapshot);
  const arms = new Map<string, ModelArm>([...(recorded ?? []), [desired.revision, desired]]);
  const stable = arms.get(status.stable ?? desired.revision);
  if (stable === undefined) return undefined;
  const tried = isOpen(status) ? arms.get(status.canary ?? '') : undefined;
  const wanted = [stable, ...(tried === undefined ? [] : [tried])];
  const serving = new Set(wanted.map(({ revision }) => revision));
  const drains = now - Date.parse(status.since) < drainSecondsOf(snapshot.policy) * 1000;
  const rest = [...arms.values()].filter(
    (arm) => !serving.has(arm.revision) && (inUse(arm.revision) || (drains && hasPods(snapshot, arm))),
  );
  const held = [
    ...serving,
    ...rest.map(({ revision }) => revision),
    desired.revision,
    ...(status.lastGreen ?? []),
    ...(status.canary === undefined ? [] : [status.canary]),
  ];
  const isSettled = status.stable === desired.revision && rest.length === 0 && deployment === undefined;
  const fromBefore = status.stable === undefined && deployment !== undefined;
  return {
    status,
    serving: fromBefore ? undefined : stable,
    arms: [...wanted, ...rest],
    record: recorded?.has(desired.revision) === true ? undefined : desired,
    plain: 'Keep',
    keep: [
      ...recordKeys(model, 'model', held),
      ledgerKey(model),
      ...(status.stable === undefined || drains ? [plainDeployment(model)] : []),
    ],
    againMs: isOpen(status) ? lookMs.open : isSettled ? Infinity : lookMs.waiting,
  };
}

/**
 * Returns the rest of a rollout whose model has none any more: its stable revision serves until the pods that follow answer,
 * and others stay until no task is judged by them. Undefined: nothing is left. Pure.
 */
export function leavingModel(snapshot: ModelSnapshot, inUse: InUse): ModelPlan | undefined {
  const { model, recorded, deployment } = snapshot;
  if (recorded === undefined || recorded.size === 0) return undefined;
  const before = model.status?.rollout;
  const serving = recorded.get(before?.stable ?? '');
  const follows = serving === undefined || rolledOut(deployment, model.spec.resources.replicas);
  const rest = [...recorded.values()].filter(({ revision }) => inUse(revision));
  if (follows && rest.length === 0) return undefined;
  const arms = follows ? rest : [serving, ...rest.filter(({ revision }) => revision !== serving.revision)];
  return {
    status: follows || before === undefined ? undefined : leavingStatus(before),
    serving: follows ? undefined : serving,
    arms,
    record: undefined,
    plain: 'Make',
    keep: recordKeys(model, 'model', recorded.keys()),
    againMs: lookMs.waiting,
  };
}

function leavingStatus(status: Omit<RolloutReport, 'reason' | 'message'>): RolloutReport {
  const { canary: _, id: __, gates: ___, ...before } = status;
  const message = 'spec.rolloutPolicyRef was removed: pods of what the spec says follow, and the stable revision serves until they answer';
  return { ...before, phase: 'Idle', weight: 0, step: 0, reason: 'Leaving', message };
}

/** The model as its tasks see it: what serves, its pods and what they report. Pure. */
export function withModelPlan(snapshot: ModelSnapshot, plan: ModelPlan | undefined): ModelSnapshot {
  if (plan === undefined) return snapshot;
  const { serving } = plan;
  if (serving === undefined) return { ...snapshot, plan };
  const { model, deployments } = snapshot;
  return {
    ...snapshot,
    plan,
    asked: { model, image: snapshot.image },
    model: asArm(model, serving),
    image: serving.image,
    deployment: deployments?.get(verifierName(model.metadata.name, serving.revision)),
    pods: snapshot.allPods?.get(serving.revision) ?? [],
    info: snapshot.infos?.get(serving.revision),
  };
}
