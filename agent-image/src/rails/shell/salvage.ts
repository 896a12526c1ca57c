import { mayStep, type Run, type Site } from './run.ts';

const maxParts = 64;

/**
 * What can still be read of a line that the grammar does not know: each part between separators is
 * taken as the arguments of a command. It only adds commands; the line stays unknown.
 */
export function salvage(text: string, site: Site, run: Run): void {
  const parts = text
    .split(/(?:\n|;|&&?|\|\|?|\(|\)|(?:^|\s)[{}](?=\s|$)|`|\$\()+/)
    .map((part) => part.trim().replace(/^(?:then|do|else|if|while|until|!)\s+/, ''))
    .filter((part) => part !== '')
    .slice(0, maxParts);
  for (const part of parts) {
    if (!mayStep(run, site.span)) return;
    run.limits.characters -= part.length;
    const parsed = run.limits.characters > 0 ? run.grammars.parse('bash', `_ ${part}`) : null;
    const command = parsed === null || parsed.broken ? undefined : parsed.root.children[0];
    if (command === undefined) continue;
    const body = command.type === 'redirected_statement' ? (command.children[0] ?? command) : command;
    const words = body.children.filter((one) => one.field === 'argument');
    const argv = words.flatMap((one) => run.word(one, site)[0] ?? []);
    if (argv.length > 0) run.call({ argv }, site);
  }
}
