import type { Expected, Observed, Scenario } from './types.ts';

const came = (result: string): string => (result === 'Equal' ? 'Worse' : result);

/** What is not as the scenario says, in words; empty when all of it is. */
export function faultsOf({ expect }: Pick<Scenario, 'expect'>, observed: Observed): readonly string[] {
  return [
    ...differs('the outcome', expect.outcome, observed.outcome).map((words) => `${words}: ${observed.message}`),
    ...differs('the hidden check', expect.hidden, observed.hidden),
    ...trials(expect, observed),
    ...differs('what people decided', (expect.decided ?? []).join(', '), observed.decided.join(', ')),
    ...vetoed(observed),
    ...rollback(expect, observed),
    ...Object.entries(expect.left ?? {}).flatMap(([path, content]) => differs(path, told(content), told(observed.left[path] ?? null))),
    ...(observed.chain ? [] : ['the chain of the event log is broken']),
  ];
}

const differs = (what: string, wanted: string, found: string): string[] =>
  wanted === found ? [] : [`${what} is ${found || 'nothing'}, not ${wanted || 'nothing'}`];
const told = (content: string | null): string => (content === null ? 'not there' : JSON.stringify(content));

function trials({ tried }: Expected, observed: Observed): string[] {
  const found = observed.tried.map(({ result }) => came(result));
  const order = differs('what became of the candidates', tried.map(({ result }) => result).join(', '), found.join(', '));
  const whys = tried.flatMap(({ why }, at) => {
    const said = observed.tried[at]?.why ?? '';
    return why === undefined || new RegExp(why).test(said)
      ? []
      : [`candidate ${at + 1}: ${said || 'nothing is said'}, which is not about ${why}`];
  });
  const told = order.length === 0 ? [] : observed.tried.map(({ result, why }, at) => `candidate ${at + 1} is ${result}: ${why}`);
  return [...order, ...told, ...whys];
}

/** The promise of a veto: nothing of it ran. What deleted files is denied after it ran, and is told so. */
function vetoed({ tried, ran }: Observed): string[] {
  const denied = tried.filter(({ result, why }) => result === 'Denied' && !/^its commands|was changed|deleted/.test(why));
  const commands = new Set(ran);
  return denied.flatMap(({ commands: acts }) => acts.filter((act) => commands.has(act)).map((act) => `"${act}" was refused and ran`));
}

function rollback({ rolledBack }: Expected, { rolledBack: found }: Observed): string[] {
  if (rolledBack !== true) return [];
  if (found === null) return ['nothing was rolled back'];
  const left = found.differs.length === 0 ? [] : [`after the rollback these differ from snapshot 0: ${found.differs.join(', ')}`];
  return [...(found.verified ? [] : ['the rollback was not verified']), ...left];
}
