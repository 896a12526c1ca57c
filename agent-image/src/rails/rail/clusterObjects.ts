import { args, type Command } from '../shell/command.ts';
import { hasHole } from '../shell/marks.ts';

const valued = /^(?:-f|--filename|-k|--kustomize|-n|--namespace|--context|--kubeconfig)$/;
const plain =
  /^(?:--(?:filename|kustomize|namespace|context|kubeconfig)=.|--(?:server-side|force-conflicts|wait|ignore-not-found)(?:=|$)|--validate=)/;
const fromFiles = /^(?:-[fk]$|--(?:filename|kustomize)(?:=|$))/;
/** Kinds of objects whose contents go with them, and nothing brings those back. */
const holders = /^(?:ns|namespaces?|crds?|customresourcedefinitions?|pvc?|persistentvolume(?:claim)?s?|no|nodes?)(?:\.|$)/i;
const metadata = /^(?:name|jsonpath=\{\.metadata\.\w+\})$/;

/** Words that are no options, and the options; null when one of them is not known to be about which objects and where. */
function parse(words: readonly string[]): { readonly names: readonly string[]; readonly output?: string; readonly files: boolean } | null {
  const names: string[] = [];
  let output: string | undefined;
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (word === '-o') output = words[(at += 1)] ?? '';
    else if (valued.test(word)) at += 1;
    else if (!word.startsWith('-')) names.push(word);
    else if (!plain.test(word)) return null;
  }
  return { names, files: words.some((word) => fromFiles.test(word)), ...(output === undefined ? {} : { output }) };
}

/**
 * Returns what a `kubectl` command does to named objects of a cluster that the task may reach: its changes can be looked at before
 * and after, so that a way back is known. Null for anything else that kubectl can do.
 */
export function clusterObjects(command: Command): 'Changes' | 'AsksMetadata' | null {
  const [verb = '', ...words] = args(command);
  if (command.name !== 'kubectl' || words.some((word) => hasHole(word) || word.includes('://'))) return null;
  const parsed = parse(words);
  if (parsed === null) return null;
  const { names, output, files } = parsed;
  if (verb === 'get') return names.length === 2 && output !== undefined && metadata.test(output) ? 'AsksMetadata' : null;
  if (output !== undefined) return null;
  if (verb === 'delete' && !files) return names.length === 2 && !holders.test(names[0] ?? '') ? 'Changes' : null;
  return /^(?:apply|create|replace|delete)$/.test(verb) && files && names.length === 0 ? 'Changes' : null;
}
