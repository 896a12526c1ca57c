import {
  defaultCompute,
  type Compute,
  type EnergyModel,
  type Expert,
  type ExpertPool,
  type Harness,
  type RolloutStatus,
  defaultShadow,
} from '@agentfleet/protocol/api';
import { gatewayAudience } from '@agentfleet/protocol/gateway';
import { egressPort } from '@agentfleet/protocol/keeper';
import {
  ablationAnnotations,
  ablationNames,
  artifactsDir,
  briefKey,
  credentialsDir,
  type ArtifactPlace,
  type ComputeBrief,
  type EgressBrief,
  type ExpertEndpoint,
  type HarnessBrief,
  type PoolBrief,
  type VerifierEndpoint,
  type ShadowBrief,
} from '@agentfleet/protocol/pool';
import { artifactsClaim, briefName, expertName, verifierName } from '../../../pools/names.ts';
import { resources } from '../../../runtime/resources.ts';
import { serverUrl } from '../../../serving/index.ts';
import { chatModel } from './chat.ts';
import { gatewayUrl } from './gateway.ts';
import { homeOf, owned, type Manifest } from '../../../operands/manifest.ts';
import type { NamedPolicy } from '../../../revisions/index.ts';

/** Input that a brief is made from. */
export interface BriefInput {
  readonly pool: ExpertPool;
  /** Namespaces whose tasks the workers may read. */
  readonly namespaces: readonly string[];
  /** Experts whose engine has an image: those that have pods, or may have. */
  readonly experts: readonly Expert[];
  /** The model that the pool names; undefined when there is none. */
  readonly energyModel: EnergyModel | undefined;
  readonly egress: EgressBrief;
  /** Returns the revision of an expert's server that is meant, where there are several. */
  readonly revisionOf?: (expert: Expert) => string | undefined;
  /** The gateway that is meant, where there are several. */
  readonly gateway?: string | undefined;
  /** Credentials that workers do not have. */
  readonly withheld?: ReadonlySet<string>;
  /** All revisions that have pods, where the pool has a rollout. */
  readonly arms?: readonly ArmInput[];
  /** State of the rollout of the pool. */
  readonly rollout?: RolloutStatus | undefined;
  /** Policies of the rollouts of the pool and of its model. */
  readonly policies?: Policies;
}

/** Experts of one revision; those that have an image. */
export interface ArmInput {
  readonly revision: string;
  readonly experts: readonly Expert[];
  readonly imaged: readonly Expert[];
  readonly revisionOf: (expert: Expert) => string | undefined;
  /** Its gateway; undefined: the only one, or none. */
  readonly gateway?: string | undefined;
}

function place(pool: ExpertPool): ArtifactPlace {
  const { storage } = pool.spec;
  if (storage === undefined) return { type: 'Volume', path: artifactsDir, claim: artifactsClaim(pool.metadata.name) };
  const { uri, endpoint, region, forcePathStyle, credential, encryption } = storage;
  const file = credential === undefined ? {} : { credentialFile: `${credentialsDir}/${credential}` };
  const key = encryption === undefined ? {} : { encryptionKeyFile: `${credentialsDir}/${encryption.credential}` };
  return { type: 'S3', uri, endpoint, region, forcePathStyle, ...file, ...key };
}

/**
 * Returns the endpoint of a model. It is named also while it does not answer: then its `whenUnavailable` decides, and not the
 * moment at which its pods started.
 */
export function verifier(model: EnergyModel): VerifierEndpoint {
  const { metadata, spec, status } = model;
  const [stable] = status?.arms ?? [];
  if (stable !== undefined) return endpointOf(model, stable);
  const endpoint = serverUrl(verifierName(metadata.name), metadata.namespace ?? '');
  const calibration = demandsCalibration(model) ? { calibration: { abstains: 'NotReported' } } : {};
  return endpointOf(model, { endpoint, thresholdsInForce: spec.thresholds, ...calibration });
}

/** Reports whether only calibrated probabilities of a model count. Those of one that needs no calibration count as they are. */
export function demandsCalibration({ spec }: EnergyModel): boolean {
  return spec.calibration !== undefined || spec.gates !== undefined || spec.thresholds.source === 'Calibration';
}

/** Acts of one request to a verifier, and after how long it counts as unavailable. */
const scoring = { batchMax: 16, timeoutMillis: 800 } as const;

type ModelArm = NonNullable<NonNullable<EnergyModel['status']>['arms']>[number];

function endpointOf({ metadata, spec }: EnergyModel, { endpoint, thresholdsInForce, calibration }: ModelArm): VerifierEndpoint {
  const { heads } = thresholdsInForce;
  return {
    name: metadata.name,
    url: endpoint,
    ...scoring,
    ...bounds(thresholdsInForce),
    whenUnavailable: spec.thresholds.whenUnavailable,
    ...(heads !== undefined && { heads: heads.map((head) => ({ head: head.name, ...bounds(head) })) }),
    ...(calibration !== undefined && { calibration: { ...calibration, abstains: calibration.abstains ?? null } }),
  };
}

/** The verifiers of all revisions, each with its own thresholds and calibration; nothing where there is one only. */
export function verifierArms(model: EnergyModel | undefined): Pick<PoolBrief, 'verifierArms'> {
  const arms = model?.status?.arms ?? [];
  if (model === undefined || arms.every(({ revision }) => revision === undefined)) return {};
  return {
    verifierArms: arms.flatMap((arm) => (arm.revision === undefined ? [] : [{ revision: arm.revision, verifier: endpointOf(model, arm) }])),
  };
}

function bounds({ vetoBelowProbability: veto, warnBelowProbability: warn }: Omit<ModelArm['thresholdsInForce'], 'heads'>) {
  return { vetoBelowProbability: Number(veto), warnBelowProbability: Number(warn) };
}

function numbers({ entropyFastNats, margin, kBase, kMax }: Compute): ComputeBrief {
  return {
    entropyFastNats: Number(entropyFastNats),
    margin: Number(margin),
    riskThreshold: 0.6,
    kBase,
    kMax,
    earlyExitMargin: 1.5,
  };
}

/** Profiles by name; one called default is always there. */
function profiles({ spec }: ExpertPool): PoolBrief['profiles'] {
  const own = (spec.profiles ?? []).map(({ name, compute }) => [name, numbers(compute)] as const);
  return { default: numbers(defaultCompute), ...Object.fromEntries(own) };
}

/** Address at which programs of the sandbox find their model. */
const insideUrl = `http://127.0.0.1:${egressPort}`;

/** Wall time of harness.install; what takes longer belongs into the image. */
const installSeconds = 1800;

function harnessBrief({ command, env = [], input, api, acts, model, install, rounds, stallSeconds }: Harness): HarnessBrief {
  return {
    command: [...command],
    env: Object.fromEntries(env.map(({ name, value }) => [name, value])),
    input,
    api,
    acts,
    ...(model !== undefined && { model }),
    ...(install !== undefined && { install: { ...install, command: [...install.command], timeoutSeconds: installSeconds } }),
    rounds,
    stallSeconds,
  };
}

/** Lists the experts that may be asked. One without pods would only cost its callers a time limit; its absence is reported. Pure. */
export function parts(
  pool: ExpertPool,
  { experts, imaged, revisionOf, gateway }: Omit<ArmInput, 'revision'>,
): Pick<PoolBrief, 'experts' | 'absent'> {
  const present = imaged.filter(({ replicas }) => replicas > 0);
  const names = new Set(present.map(({ name }) => name));
  const answers = (expert: Expert): Pick<ExpertEndpoint, 'chat' | 'harness' | 'url'> => {
    if (expert.engine.type === 'Harness') return { harness: harnessBrief(expert.engine.harness), url: insideUrl };
    const chat = chatModel(expert, names);
    if (chat !== undefined) return { chat, url: gatewayUrl(pool, gateway) };
    return { url: serverUrl(expertName(pool.metadata.name, expert.name, revisionOf(expert)), homeOf(pool)) };
  };
  const endpoint = (expert: Expert): ExpertEndpoint => {
    return {
      name: expert.name,
      role: expert.role,
      // An adapter is served by the same engine as its base.
      engine: expert.engine.type === 'Adapter' ? 'VLLM' : expert.engine.type,
      domains: [...expert.domains],
      ...answers(expert),
    };
  };
  return {
    experts: present.map(endpoint),
    absent: experts.flatMap(({ name, role }) => (names.has(name) ? [] : [{ name, role }])),
  };
}

/** Lists the parts that tasks of experiments may ask to be left out; nothing where the pool names none. */
function allowedAblations({ metadata }: ExpertPool): Pick<PoolBrief, 'ablations'> {
  const names = ablationNames(metadata.annotations?.[ablationAnnotations.allowed]);
  return names.length === 0 ? {} : { ablations: [...names] };
}

/** Lists the experts that work and the verifiers that judge: for all tasks, by revisions, and in shadow. */
function working({
  pool,
  experts,
  energyModel,
  revisionOf = () => undefined,
  gateway,
  arms,
  rollout,
  policies,
}: BriefInput): Pick<PoolBrief, 'experts' | 'absent' | 'arms' | 'verifierArms' | 'shadow'> {
  const named = {
    ...parts(pool, { experts: pool.spec.experts, imaged: experts, revisionOf, gateway }),
    ...(arms === undefined ? {} : { arms: arms.map((arm) => ({ revision: arm.revision, ...parts(pool, arm) })) }),
    ...verifierArms(energyModel),
  };
  return { ...named, ...shadowBrief({ rollout, energyModel, policies, reported: named }) };
}

/** By which tokens chat models are asked; nothing where the pool has none. */
function gatewayBrief(pool: ExpertPool, { experts, arms = [] }: Pick<PoolBrief, 'experts' | 'arms'>): Pick<PoolBrief, 'gateway'> {
  const asked = [...experts, ...arms.flatMap((arm) => arm.experts)].some(({ chat }) => chat !== undefined);
  return asked ? { gateway: { audience: gatewayAudience(homeOf(pool), pool.metadata.name) } } : {};
}

function credentialsBrief({ pool, withheld = new Set() }: BriefInput): PoolBrief['credentials'] {
  const held = (pool.spec.credentials ?? []).filter(({ name }) => !withheld.has(name));
  return held.map(({ name, hosts, repositories }) => ({
    name,
    hosts: [...hosts],
    ...(repositories !== undefined && { repositories: [...repositories] }),
    file: `${credentialsDir}/${name}`,
  }));
}

/** The pool's fields of tools; nothing where it sets none. */
function toolsBrief({ spec: { tools } }: ExpertPool): Pick<PoolBrief, 'tools'> {
  if (tools === undefined) return {};
  const { deny = [], timeouts = {}, mcpServers = [] } = tools;
  const servers = mcpServers.map(({ headers = [], ...server }) => ({ ...server, headers: headers.map((header) => ({ ...header })) }));
  return { tools: { deny: [...deny], timeouts: { ...timeouts }, mcpServers: servers } };
}

/** Returns the facts that the workers of a pool need. Pure: equal inputs give equal bytes. */
export function poolBrief(input: BriefInput): PoolBrief {
  const { pool, namespaces, energyModel, egress } = input;
  const { name } = pool.metadata;
  const { minIsolation, allowUnenforcedNetwork, maxBudget, maxRetentionSeconds, allowedHosts, traceConsent } = pool.spec.policy;
  const parties = working(input);
  return {
    format: 'agentfleet.dev/pool/v1',
    pool: { name, namespace: homeOf(pool) },
    namespaces: [...namespaces].sort(),
    ...parties,
    verifier: energyModel === undefined ? null : verifier(energyModel),
    profiles: profiles(pool),
    egress,
    ...gatewayBrief(pool, parties),
    credentials: credentialsBrief(input),
    storage: place(pool),
    minIsolation,
    allowUnenforcedNetwork,
    ...(allowedHosts === undefined ? {} : { allowedHosts: allowedHosts.map(({ host, port }) => ({ host, port })) }),
    ...toolsBrief(pool),
    maxBudget: { ...maxBudget },
    ...(maxRetentionSeconds === undefined ? {} : { maxRetentionSeconds }),
    ...(traceConsent === undefined ? {} : { traceConsent: traceConsent.default }),
    ...allowedAblations(pool),
  };
}

/** The ConfigMap with the brief. Pure. */
export function briefConfigMap(input: BriefInput): Manifest {
  const text = `${JSON.stringify(poolBrief(input), undefined, 2)}\n`;
  const identity = { name: briefName(input.pool.metadata.name), component: 'worker' } as const;
  return owned(input.pool, resources.configMaps, identity, { data: { [briefKey]: text } });
}

/** Contents of the policies that are named. */
interface Policies {
  readonly own?: NamedPolicy | undefined;
  readonly judge?: NamedPolicy | undefined;
}

/** Revisions that a brief lists, and the state of its rollouts. */
export interface ShadowInput {
  /** Undefined: the pool has no rollout. */
  readonly rollout: RolloutStatus | undefined;
  readonly energyModel: EnergyModel | undefined;
  /** Policies of the pool and of the model. */
  readonly policies?: Policies | undefined;
  readonly reported: Pick<PoolBrief, 'experts' | 'arms' | 'verifierArms'>;
}

/** Returns the revision that gets copies of requests now, of the pool or of its model; nothing where none does. Pure. */
export function shadowBrief({ rollout, energyModel, policies = {}, reported }: ShadowInput): Pick<PoolBrief, 'shadow'> {
  const own = inShadow(rollout, policies.own);
  const arm = reported.arms?.find(({ revision }) => revision === own?.revision);
  if (own !== undefined && arm !== undefined) {
    // One that the stable revision has too has one server, and would get each request twice.
    const known = new Set(reported.experts.map(({ url }) => url));
    // A copy of a chat would cost money, and nothing reads it.
    const copied = arm.experts.filter(({ url, chat }) => !known.has(url) && chat === undefined);
    return { shadow: { ...own, experts: copied, verifier: null } };
  }
  const judge = inShadow(energyModel?.status?.rollout, policies.judge);
  const judging = reported.verifierArms?.find(({ revision }) => revision === judge?.revision);
  return judge === undefined || judging === undefined ? {} : { shadow: { ...judge, experts: [], verifier: judging.verifier } };
}

function inShadow(
  status: RolloutStatus | undefined,
  policy: NamedPolicy | undefined,
): Omit<ShadowBrief, 'experts' | 'verifier'> | undefined {
  const { phase, id, canary } = status ?? {};
  if (phase !== 'Shadowing' || id === undefined || canary === undefined || policy?.spec === undefined) return undefined;
  return { rollout: id, revision: canary, percent: (policy.spec.shadow ?? defaultShadow).percent, maxInFlight: 4 };
}
