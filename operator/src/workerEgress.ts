const known = new Set(['to', 'ports']);

/** Egress rules of NetworkPolicies as the chart writes them, JSON. @throws Error that names the rule and its cure */
export function parseWorkerEgress(text: string): readonly object[] {
  const example = '[{"to":[{"ipBlock":{"cidr":"10.1.0.0/24"}}],"ports":[{"port":443}]}]';
  let rules: unknown;
  try {
    rules = JSON.parse(text);
  } catch {
    throw new Error(`it is not JSON; write it like ${example}`);
  }
  if (!Array.isArray(rules)) throw new Error(`it is not a list of rules; write it like ${example}`);
  return rules.map((rule: unknown, at) => {
    const members = typeof rule === 'object' && rule !== null && !Array.isArray(rule) ? Object.keys(rule) : [];
    if (members.length === 0) throw new Error(`rule ${at} opens everything or is no rule; write it like ${example}`);
    const unknown = members.find((member) => !known.has(member));
    if (unknown !== undefined) throw new Error(`rule ${at} has ${unknown}, which is not known; there are to and ports`);
    return rule as object;
  });
}
