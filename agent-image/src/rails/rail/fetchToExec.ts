import { args, lookup, operands, origins, type Command } from '../shell/command.ts';
import { deviceHost, fetchers, hostOf, isLoopback } from '../shell/hosts.ts';
import { found, nothing, type Rail } from './rail.ts';

/** A program from the network is run unread: `curl … | sh`, also through files and variables. */
export const fetchToExec: Rail = {
  id: 'fetch-to-exec',
  title: 'what the network sends is run',
  severity: 'High',
  risk: 'External',
  cure: 'Download to a file, read it, and run it in a second step; or use a package with a pinned version.',
  check(command) {
    for (const { value } of command.code) {
      for (const source of origins(value)) {
        const fetches = fetchers.has(source.name) || source.redirects.some((one) => deviceHost(one.target.text) !== null);
        if (fetches) return found('High', `${command.name} runs what ${source.name} brings`);
      }
    }
    const packages =
      /^(?:pip3?|npm|pnpm|yarn|gem|cargo|go|uv)$/.test(command.name) && /^(?:install|add|i|get|run)$/.test(operands(command)[0] ?? '');
    const url = args(command).find((text) => /^(?:git\+)?(?:https?|ssh|git):\/\//.test(text));
    const runs = /^(?:npx|bunx|pipx|uvx)$/.test(command.name) ? runPackage(command) : undefined;
    if (packages && url !== undefined) return found('Suspicious', `${command.name} installs from ${url}`);
    if (runs !== undefined) return found('High', `${command.name} runs ${runs}`);
    const remote = remoteProgram(command);
    return remote === undefined ? nothing : found('High', `${command.name} runs ${remote}`);
  },
};

const address = /^(?:git\+)?(?:https?|ssh|git|github|gitlab|gist):/;
const isStranger = (text: string): boolean => address.test(text) && !isLoopback(hostOf(text.replace(/^git\+/, '')));

/** The package that a runner of packages fetches; addresses after it are arguments of that program. */
function runPackage(command: Command): string | undefined {
  const named = args(command).flatMap((text, at, all) =>
    /^(?:-p|--package|--from|--spec)$/.test(text) ? [all[at + 1] ?? ''] : (/^--(?:package|from|spec)=(.+)$/.exec(text)?.[1] ?? []),
  );
  const [first = '', second = ''] = operands(command);
  return [...named, first === 'run' ? second : first].find(isStranger);
}

/** Programs that read their own code from an address: a module, a script, a definition. */
const readers: Readonly<Record<string, RegExp>> = {
  cargo: /^install\b/,
  deno: /^(?:run|serve|install|eval)\b/,
  bun: /^(?:run|x)\b/,
  nix: /^(?:run|shell|develop)\b/,
  kubectl: /^(?:apply|create|replace)\b/,
  docker: /^(?:build|buildx build)\b/,
  'ansible-pull': /^/,
  flux: /^(?:bootstrap|create source)\b/,
};

function remoteProgram(command: Command): string | undefined {
  const line = operands(command).join(' ');
  const from = args(command).find(isStranger);
  if (from !== undefined && lookup(readers, command.name)?.test(line) === true) return from;
  // Scripts that data bases and build tools load by an address inside an argument.
  const inside = args(command).find((text) =>
    /\bRUNSCRIPT\s+FROM\s+'https?:|--init-script[= ]https?:|\bsource\(\s*["']https?:/i.test(text),
  );
  return inside === undefined ? undefined : 'a script of an address in its arguments';
}
