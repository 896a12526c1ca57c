import type { EnergyModel } from '@agentfleet/protocol/api';
import type { GoldenArm } from '@agentfleet/protocol/golden';
import { labels } from '@agentfleet/protocol/pool';
import {
  followRollout,
  isOpen,
  lostOf,
  modelLockedBy,
  rolloutReport,
  type RolloutReport,
  shortOf,
  type Followers,
  type Planned,
  type Revisions,
  type Seen,
} from '../../revisions/index.ts';
import { type Job, resources } from '../../runtime/resources.ts';
import { demandsCalibration, verifierArms } from '../expertpool/manifests/brief.ts';
import type { ModelSnapshot, ModelArm, ModelPlan } from './snapshot.ts';
import { featureSet, type ModelCalibration } from '@agentfleet/protocol/inference';
import { itemOf } from '../../placement/index.ts';
import { rolloutLedgerName, verifierName } from '../../pools/names.ts';
import type { CalibrationMaps, HeldOut } from '../../rollout/index.ts';
import { revisionIndex } from '../../runtime/taskCensus.ts';
import { engineState, type ServerInfo } from '../../serving/index.ts';
import { artifactFault, modelLabels } from './manifests.ts';
import { modelNeedsGpu } from '../placement/owners.ts';
import { judgeCalibration } from './calibration.ts';
import { desiredModel, leavingModel, modelPlan, type InUse } from './rolloutPlan.ts';

/** Decides how the rollout of a model goes on, and what the model consists of meanwhile. */
export function planModel(followers: Followers, snapshot: ModelSnapshot, signal: AbortSignal): Promise<Planned<ModelPlan>> {
  const { model, recorded, policy, allPods, infos } = snapshot;
  const { tasks, pools } = followers.context.caches;
  const { name, namespace = '' } = model.metadata;
  const inUse: InUse = (revision) => tasks.lister.byIndex(revisionIndex, revision).length > 0;
  const revisionsOf = (now: number): Revisions<ModelPlan> => {
    const desired = desiredModel(snapshot);
    const items = itemsIn(model, desired);
    return {
      desired: desired.revision,
      recorded,
      place: { owner: model, name: rolloutLedgerName(name, 'model'), labels: modelLabels(model) },
      golden: goldenSets(snapshot, (revision) => enginesOf(snapshot, { revision }, now) === 'Ready'),
      trial: {
        arm: 'verifierRevision',
        pods: (revision) => allPods?.get(revision) ?? [],
        heldOut: (revision) => heldOutOf(infos?.get(revision)),
        maps: (revision) => mapsOf(model, infos?.get(revision)),
      },
      canaryEngines: enginesOf(snapshot, desired, now),
      incompatible:
        artifactFault(model.spec.artifact.uri) ??
        abstaining(model, infos?.get(desired.revision), now) ??
        lostOf(model.status, desired.revision, items),
      lockedBy: () => modelLockedBy(name, pools.lister.list({ namespace })),
      guard: (decider) => followers.lock.ofModel(model, decider, signal),
      short: shortOf(model.status?.plan, items),
      amend: (next) => uncalibrated(snapshot, next, now),
      plan: (status) => modelPlan(snapshot, status, inUse, now),
    };
  };
  return followRollout(followers, { owner: model, policy, leaving: () => leavingModel(snapshot, inUse) }, revisionsOf, signal);
}

/** Returns the means by which golden sets find the revisions of a model: at the addresses of its status. */
function goldenSets(
  { model, children, goldenPods = [] }: ModelSnapshot,
  ready: (revision: string) => boolean,
): Revisions<ModelPlan>['golden'] {
  const { name, namespace = '' } = model.metadata;
  const arm = (revision: string, rollout: string): GoldenArm | undefined => {
    const found = verifierArms(model).verifierArms?.find((known) => known.revision === revision);
    if (found === undefined) return undefined;
    return { kind: 'EnergyModel', name, namespace, revision, rollout, experts: [], verifier: found.verifier };
  };
  return {
    kind: 'model',
    labels: { [labels.model]: name },
    ready,
    arm,
    jobs: children.flatMap(({ resource, object }) => (resource === resources.jobs ? [object as Job] : [])),
    pods: goldenPods,
  };
}

/** Returns the name of a revision in the ledger of GPUs; nothing for one that needs none. */
const itemsIn = (model: EnergyModel, { revision }: ModelArm): readonly string[] =>
  modelNeedsGpu(model) ? [itemOf(model.metadata.name, revision)] : [];

/** Reports why a revision abstains from judging, although the spec asks for probabilities that count; undefined while that is unknown. */
function abstaining(model: EnergyModel, info: ServerInfo | undefined, now: number): string | undefined {
  const { conditionValue, demanded } = judgeCalibration({ model, info }, now);
  if (!demanded || info === undefined || conditionValue.status === 'True') return undefined;
  return `its calibration is not in force (${conditionValue.reason}): ${conditionValue.message}`;
}

/**
 * Instead of a status that promotes a revision of which it is unknown whether its probabilities count, where that is asked
 * for: the one before, and what is waited for.
 */
function uncalibrated({ model, infos }: ModelSnapshot, next: RolloutReport, now: number): RolloutReport | undefined {
  const before = rolloutReport(model.status);
  if (before === undefined || before.stable === undefined || next.stable === before.stable) return undefined;
  const { conditionValue, demanded } = judgeCalibration({ model, info: infos?.get(next.stable ?? '') }, now);
  if (!demanded || conditionValue.status === 'True') return undefined;
  const message = `its calibration is not known to be in force (${conditionValue.reason}): ${conditionValue.message}; it is not promoted before it is`;
  return { ...before, reason: 'Held', message: message.slice(0, 512) };
}

/** Returns the state of a revision's pods. Where a calibration is demanded, one is not ready to be tried before it reported its own. */
function enginesOf(
  { model, deployments, infos }: ModelSnapshot,
  { revision }: Pick<ModelArm, 'revision'>,
  now: number,
): Seen['canaryEngines'] {
  const { replicas } = model.spec.resources;
  const deployment = deployments?.get(verifierName(model.metadata.name, revision));
  const state = engineState([{ deployment, replicas }], now);
  if (state !== 'Ready') return state;
  const info = infos?.get(revision);
  const tried = model.status?.rollout;
  const silent = replicas > 0 && info === undefined && isOpen(tried) && tried?.phase === 'Loading';
  return silent && demandsCalibration(model) ? 'Loading' : 'Ready';
}

/** The calibration that a verifier reports, or why it cannot count; undefined: it reports none. */
function reportedOf({ calibration }: Partial<ServerInfo> = {}): ModelCalibration | { readonly fault: string } | undefined {
  if (calibration === undefined || 'fault' in calibration || calibration.featureSet === featureSet) return calibration;
  return { fault: `it was calibrated with ${calibration.featureSet}, and workers send ${featureSet}` };
}

/** Returns the figures that a verifier reports of problems that it never saw. */
function heldOutOf(info: ServerInfo | undefined): HeldOut | undefined {
  const reported = reportedOf(info);
  if (reported === undefined || 'fault' in reported) return reported;
  return {
    heads: reported.heads.map(({ name, auc, ece, brier, samples }) => ({
      name,
      auc,
      ece,
      samples,
      ...(brier === undefined ? {} : { brier }),
    })),
  };
}

/** Returns the maps from energies to probabilities, and the one from which on acts pass: by its own thresholds, or by those of the spec. */
function mapsOf({ spec: { thresholds } }: EnergyModel, info: ServerInfo | undefined): CalibrationMaps | undefined {
  const reported = reportedOf(info);
  if (reported === undefined || 'fault' in reported) return reported;
  const fixed = thresholds.source === 'Fixed' ? Number(thresholds.vetoBelowProbability) : undefined;
  return {
    heads: reported.heads.map(({ name, samples, knots, vetoBelowProbability }) => ({
      name,
      samples,
      knots,
      veto: fixed ?? vetoBelowProbability,
    })),
  };
}
