// Program that `helm test` runs inside the cluster. Ends with status 1 and one line for each thing that is wrong.
import { readFile } from 'node:fs/promises';
import { env, exit } from 'node:process';

const kinds = ['agenttasks', 'agenttaskorders', 'expertpools', 'energymodels', 'rolloutpolicies', 'poolgrants', 'expertscales'];
const tokenFile = env.TOKEN_FILE ?? '/var/run/secrets/kubernetes.io/serviceaccount/token';
const limit = () => AbortSignal.timeout(10_000);

/** @returns {Promise<string[]>} what is wrong with the operator */
async function operator() {
  const { status } = await fetch(`${env.OPERATOR_URL}/metrics`, { signal: limit() });
  return status === 401 || status === 403 ? [] : [`the operator answered ${status} to who has no token for its metrics, not 401 or 403`];
}

/** @returns {Promise<string[]>} what is wrong with the definitions */
async function definitions() {
  const headers = { authorization: `Bearer ${(await readFile(tokenFile, 'utf8')).trim()}` };
  const answer = await fetch(`${env.API_SERVER_URL}/apis/agentfleet.dev/v1alpha1`, { headers, signal: limit() });
  if (answer.status !== 200) return [`the API server answered ${answer.status} about agentfleet.dev/v1alpha1: install the definitions`];
  const served = new Set((await answer.json()).resources.map(({ name }) => name));
  return kinds.filter((kind) => !served.has(kind)).map((kind) => `the API server does not serve ${kind}: upgrade the definitions`);
}

const looks = await Promise.allSettled([operator(), definitions()]);
const wrong = looks.flatMap((look) => (look.status === 'fulfilled' ? look.value : [String(look.reason?.cause ?? look.reason)]));
for (const line of wrong) console.error(line);
console.log(wrong.length === 0 ? 'the operator answers, and all kinds are served' : `${wrong.length} things are wrong`);
exit(wrong.length === 0 ? 0 : 1);
