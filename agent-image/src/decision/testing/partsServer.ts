import {
  routes,
  type Capability,
  type ControlRequest,
  type EmbedRequest,
  type Features,
  type JudgedAct,
  type JudgeRequest,
  type PriorRequest,
  type ScoreItem,
  type ScoreRequest,
} from '@agentfleet/protocol/inference';
import type { Exchanges, PartCapability } from '../../experts/index.ts';
import { serveHttp } from '../../testing/localHttp.ts';
import type { ComputeBrief, PoolBrief } from '@agentfleet/protocol/pool';

type Failure = 'Silent' | 'Refuses' | 'Nonsense';

/** Answers of the parts; change them at any time. */
export interface Script {
  energy: (item: ScoreItem) => number;
  pSuccess: (item: ScoreItem) => number | null;
  /** Calibration that made the probabilities. */
  calibration: string | null;
  /** Features that change energies. */
  reads: readonly (keyof Features)[];
  risk: number;
  deliberate: boolean;
  shadow: string | null;
  /** Weights of experts by name; the others share the rest. */
  experts: Readonly<Record<string, number>>;
  unsafe: number | ((act: JudgedAct) => number);
  gain: (id: string) => number | null;
  vector: (text: string) => readonly number[];
  /** Parts that are not well. */
  failing: Partial<Record<Capability, Failure>>;
}

/** One server for all learned parts, over real HTTP; it gives the answers that a test sets. */
export interface PartsServer extends AsyncDisposable {
  readonly url: string;
  readonly script: Script;
  /** Requests in order. */
  readonly asked: readonly { readonly route: string; readonly body: unknown }[];
  /** Bodies of one capability. */
  bodies<C extends PartCapability>(capability: C): readonly Exchanges[C]['request'][];
  /** A brief whose parts are all here, with a generalist elsewhere. */
  pool(change?: Partial<Pick<PoolBrief, 'experts' | 'verifier'>>): Pick<PoolBrief, 'experts' | 'verifier'>;
}

export const compute: ComputeBrief = { entropyFastNats: 2.5, margin: 1.5, riskThreshold: 0.6, kBase: 2, kMax: 8, earlyExitMargin: 1.5 };
export const modelDigest = `sha256:${'ab'.repeat(32)}`;

function answerOf(route: string, body: unknown, script: Script): object {
  const { requestId } = body as { readonly requestId: string };
  const base = { requestId, modelDigest };
  switch (route) {
    case routes.Control: {
      const { experts } = body as ControlRequest;
      const left = 1 - experts.reduce((sum, name) => sum + (script.experts[name] ?? 0), 0);
      const unnamed = experts.filter((name) => script.experts[name] === undefined).length;
      const weights = experts.map((name) => ({ name, p: script.experts[name] ?? left / Math.max(1, unnamed) }));
      return { ...base, tick: 0, experts: weights, risk: script.risk, deliberate: script.deliberate, shadow: script.shadow };
    }
    case routes.Score: {
      const scoreOf = (item: ScoreItem) => {
        const energy = script.energy(item);
        return { id: item.id, energy, model: energy, features: 0, pSuccess: script.pSuccess(item) };
      };
      return { ...base, scores: (body as ScoreRequest).items.map(scoreOf), reads: script.reads, calibration: script.calibration };
    }
    case routes.Embed: {
      const vectors = (body as EmbedRequest).texts.map(script.vector);
      return { ...base, dimensions: vectors[0]?.length ?? 0, vectors };
    }
    case routes.Judge: {
      const verdictOf = (act: JudgedAct) => {
        const unsafe = typeof script.unsafe === 'number' ? script.unsafe : script.unsafe(act);
        return { id: act.id, label: unsafe >= 0.5 ? 'Destructive' : 'Benign', unsafe, rule: null };
      };
      return { ...base, verdicts: (body as JudgeRequest).acts.map(verdictOf) };
    }
    default: {
      const scores = (body as PriorRequest).candidates.map(({ id }) => ({ id, gainNats: script.gain(id) }));
      return { ...base, scores, truncated: false, tokens: 1, millis: 4 };
    }
  }
}

const willing = (): Script => ({
  energy: () => 0,
  pSuccess: () => 0.9,
  calibration: null,
  reads: ['specCosine', 'likelihoodGain'],
  risk: 0.1,
  deliberate: false,
  shadow: null,
  experts: {},
  unsafe: 0.01,
  gain: () => 0,
  vector: () => [1, 0],
  failing: {},
});

export async function startPartsServer(): Promise<PartsServer> {
  const script = willing();
  const asked: { route: string; body: unknown }[] = [];
  const server = await serveHttp((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const route = request.url ?? '';
      const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
      asked.push({ route, body });
      const capability = (Object.keys(routes) as Capability[]).find((known) => routes[known] === route);
      const failure = capability === undefined ? 'Refuses' : script.failing[capability];
      if (failure === 'Silent') return;
      if (failure === 'Refuses') response.writeHead(500).end('not well');
      else if (failure === 'Nonsense') response.end('{"requestId": 1}');
      else response.end(JSON.stringify(answerOf(route, body, script)));
    });
  });
  const bodies = <C extends PartCapability>(capability: C): readonly Exchanges[C]['request'][] =>
    asked.filter(({ route }) => route === routes[capability]).map(({ body }) => body as Exchanges[C]['request']);
  return { ...server, script, asked, bodies, pool: (change = {}) => ({ ...poolAt(server.url), ...change }) };
}

function poolAt(url: string): Pick<PoolBrief, 'experts' | 'verifier'> {
  const domains = ['*'];
  return {
    experts: [
      { name: 'gen', role: 'Generalist', engine: 'Synth', domains, url: 'http://127.0.0.1:1' },
      { name: 'hrm', role: 'Planner', engine: 'Builtin', domains, url },
      { name: 'tpc', role: 'Policy', engine: 'Builtin', domains, url },
      { name: 'embed', role: 'Embedder', engine: 'Builtin', domains, url },
      { name: 'smol', role: 'Draft', engine: 'Llama', domains, url },
    ],
    verifier: {
      name: 'ebm',
      url,
      batchMax: 2,
      timeoutMillis: 200,
      vetoBelowProbability: 0.15,
      warnBelowProbability: 0.35,
      whenUnavailable: 'FailClosed',
    },
  };
}
