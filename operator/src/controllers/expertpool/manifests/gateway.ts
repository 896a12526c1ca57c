import { contentHash } from '@agentfleet/kube';
import type { ExpertPool, Gateway as GatewaySpec } from '@agentfleet/protocol/api';
import { gatewayAudience, gatewayFiles, gatewayPort, gatewayWord } from '@agentfleet/protocol/gateway';
import type { EgressBrief } from '@agentfleet/protocol/pool';
import { serviceAccountSubject } from '@agentfleet/protocol/tokens';
import { basename, dirname } from 'node:path';
import { endpointOf, gatewayCredentials } from '../../../pools/resolve.ts';
import { gatewayName, poolKeysName, workerServiceAccount } from '../../../pools/names.ts';
import { resources } from '../../../runtime/resources.ts';
import {
  operatorPeer,
  peer,
  serverDeployment,
  tcp,
  withAccess,
  withMounted,
  type ClusterAccess,
  type Mounted,
} from '../../../serving/index.ts';
import { vllmPort } from '../../../serving/vllm/index.ts';
import { authorityFile, gatewayModels, proxyOf, type ChatModels } from './chat.ts';
import { credentialFiles, filesFrom, mounted } from './access.ts';
import { disruptionBudget, homeOf, owned, poolLabels, serviceOf, type Manifest } from '../../../operands/manifest.ts';
import { hostOf, nameServers, onlyHost } from './walls.ts';

/** Annotation of the pod template: other models or recordings, another template, so that the pods are replaced. */
const modelsHashAnnotation = 'agentfleet.dev/models-hash';

/** It waits for models, and computes little. */
const fallbackResources = { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } };

const defaultReplicas = 2;

/** Longest time that answers under way get when a pod has to go, and what its end takes beside it, seconds. */
const mostDrainSeconds = 300;
const endSeconds = 15;

/** A gateway of a pool: the chat models of one revision. */
export interface Gateway extends ChatModels {
  /** Hash that distinguishes gateways of several revisions; undefined: there is one only. */
  readonly revision: string | undefined;
  readonly image: string;
  /** Of the contents of recordings, by the names of their ConfigMaps. */
  readonly recordings: ReadonlyMap<string, string>;
}

/** Input that gateways are made with, besides the pool. */
interface GatewaySite {
  readonly access: ClusterAccess;
  readonly egress: EgressBrief;
  readonly operatorNamespace: string;
  readonly prometheusNamespace?: string | undefined;
}

/** Pods of a gateway that are asked for. */
export function gatewayReplicas({ spec }: ExpertPool): number {
  return spec.gateway?.replicas ?? defaultReplicas;
}

/** Origin of a gateway inside the cluster. */
export function gatewayUrl(pool: ExpertPool, revision: string | undefined): string {
  return `http://${gatewayName(pool.metadata.name, revision)}.${homeOf(pool)}.svc:${gatewayPort}`;
}

const labelsOf = ({ pool, revision }: Gateway): Record<string, string> => poolLabels(pool, 'gateway', undefined, revision);

const identityOf = ({ pool, revision }: Gateway) =>
  ({ name: gatewayName(pool.metadata.name, revision), component: 'gateway', revision }) as const;

const modelsText = (gateway: Gateway): string => `${JSON.stringify(gatewayModels(gateway), undefined, 2)}\n`;

function authorities({ models }: Gateway): readonly Mounted[] {
  const sources = models.flatMap((expert) => {
    const bundle = endpointOf(expert)?.caBundleRef;
    return bundle === undefined ? [] : [{ configMap: { name: bundle.name, items: [{ key: bundle.key, path: authorityFile(expert) }] } }];
  });
  return filesFrom('authorities', sources, gatewayFiles.authorities);
}

/** A folder for each recording; volumes have numbers, as names of experts may be longer than theirs. */
function recordings({ models }: Gateway): readonly Mounted[] {
  const recorded = models.flatMap(({ name, engine }) =>
    engine.type === 'Replay' ? [{ name, configMap: engine.replay.configMap.name }] : [],
  );
  return recorded.map(({ name, configMap }, index) =>
    mounted({ name: `recording-${index}`, configMap: { name: configMap } }, `${gatewayFiles.recordings}/${name}`),
  );
}

function hashOf(gateway: Gateway): string {
  const tapes = gateway.models.flatMap(({ engine }) =>
    engine.type === 'Replay' ? [gateway.recordings.get(engine.replay.configMap.name)] : [],
  );
  // Pods of engines come and go: the gateway reads where they are while it runs.
  return contentHash({ models: gatewayModels({ ...gateway, addressesOf: () => [] }), tapes });
}

function drainSeconds(gateway: Gateway): number {
  return Math.min(mostDrainSeconds, Math.max(...gatewayModels(gateway).models.map(({ timeoutSeconds }) => timeoutSeconds)));
}

/** The pods of a gateway: they hold the keys of the models, and have no right in the cluster. Pure. */
export function gatewayDeployment(gateway: Gateway, { access }: GatewaySite): Manifest {
  const { pool, image } = gateway;
  const namespace = homeOf(pool);
  const { resources: wanted }: Partial<GatewaySpec> = pool.spec.gateway ?? {};
  const server = serverDeployment({
    labels: labelsOf(gateway),
    annotations: { [modelsHashAnnotation]: hashOf(gateway) },
    image,
    args: [gatewayWord],
    port: gatewayPort,
    replicas: gatewayReplicas(pool),
    graceSeconds: drainSeconds(gateway) + endSeconds,
    isSpread: true,
    environment: { AGENTFLEET_DRAIN_SECONDS: String(drainSeconds(gateway)) },
    resources: wanted,
    fallback: fallbackResources,
  });
  const models = mounted({ name: 'models', configMap: { name: identityOf(gateway).name } }, dirname(gatewayFiles.models));
  const keys = gatewayCredentials(gateway.models);
  const credentials = credentialFiles(pool, (name) => keys.has(name), gatewayFiles.credentials);
  const parts = [models, ...credentials, ...authorities(gateway), ...recordings(gateway)];
  const spec = parts.reduce((before, part) => withMounted(before, ['inference'], part), server);
  const guarded = withAccess(spec, 'inference', {
    ...access,
    namespace,
    audience: gatewayAudience(namespace, pool.metadata.name),
    keys: poolKeysName(pool.metadata.name),
    callers: [serviceAccountSubject(namespace, workerServiceAccount(pool.metadata.name))],
    // It reads how long models take, and cannot ask them.
    metricsReaders: [...access.metricsReaders, access.operator],
  });
  return owned(pool, resources.deployments, identityOf(gateway), { spec: guarded });
}

/**
 * Returns the rules that open the models of a gateway, and nothing else: the proxy instead of the host where there is one. A NetworkPolicy
 * knows no names, so for a name any address is open at its port, also of the cluster; for a literal address this one.
 */
function egressRules(gateway: Gateway, egress: EgressBrief): readonly object[] {
  const { pool, models } = gateway;
  const hosts = models.flatMap((expert) => {
    const endpoint = endpointOf(expert);
    return endpoint === undefined ? [] : [hostOf(proxyOf(endpoint, gateway.settings) ?? endpoint.baseURL)];
  });
  const { tracing } = gateway.settings ?? {};
  if (tracing !== undefined) hosts.push(hostOf(tracing.endpoint));
  const named = hosts.flatMap((host) => onlyHost(host, egress, homeOf(pool)));
  const engines = models.filter(({ engine }) => engine.type === 'VLLM').map(({ name }) => poolLabels(pool, 'expert', name));
  const own = engines.map((pods) => ({ to: [peer({ pods })], ports: tcp(vllmPort) }));
  const rules = [nameServers, ...named, ...own];
  return [...new Map(rules.map((rule) => [JSON.stringify(rule), rule])).values()];
}

function wall(gateway: Gateway, { egress, operatorNamespace, prometheusNamespace }: GatewaySite): Manifest {
  const ports = tcp(gatewayPort);
  const spec = {
    podSelector: { matchLabels: labelsOf(gateway) },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [
      { from: [peer({ pods: poolLabels(gateway.pool, 'worker') }), operatorPeer(operatorNamespace)], ports },
      ...(prometheusNamespace === undefined ? [] : [{ from: [peer({ namespace: prometheusNamespace })], ports }]),
    ],
    egress: egressRules(gateway, egress),
  };
  return owned(gateway.pool, resources.networkPolicies, identityOf(gateway), { spec });
}

/** The objects of a gateway, but for its Deployment: they are there before it. Pure. */
export function gatewayParts(gateway: Gateway, site: GatewaySite): readonly Manifest[] {
  const data = { [basename(gatewayFiles.models)]: modelsText(gateway) };
  const { pool } = gateway;
  const identity = identityOf(gateway);
  return [
    owned(pool, resources.configMaps, identity, { data }),
    wall(gateway, site),
    serviceOf(pool, identity, gatewayPort),
    ...disruptionBudget(pool, identity, gatewayReplicas(pool)),
  ];
}
