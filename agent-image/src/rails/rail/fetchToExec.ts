import { args, operands, origins } from '../shell/command.ts';
import { deviceHost, fetchers } from '../shell/hosts.ts';
import { found, nothing, type Rail } from './rail.ts';

/** A program from the network that nobody has read is run: `curl … | sh`, also through files and variables. */
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
    if (packages && url !== undefined) return found('Suspicious', `${command.name} installs from ${url}`);
    if (/^(?:npx|bunx|pipx|uvx)$/.test(command.name) && url !== undefined) return found('High', `${command.name} runs ${url}`);
    return nothing;
  },
};
