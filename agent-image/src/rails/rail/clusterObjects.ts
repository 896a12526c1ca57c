import { args, type Command } from '../shell/command.ts';
import { hasHole } from '../shell/marks.ts';

const valued = /^(?:-f|--filename|-k|--kustomize|-n|--namespace|--context|--kubeconfig)$/;
const plain =
  /^(?:--(?:filename|kustomize|namespace|context|kubeconfig)=.|--(?:server-side|force-conflicts|wait|ignore-not-found)(?:=|$)|--validate=)/;
const aboutFiles = /^(?:-[fk]|--(?:filename|kustomize))(?:=|$)/;
/** Kinds of objects whose contents go with them, and nothing brings those back. */
const holders = /^(?:ns|namespaces?|crds?|customresourcedefinitions?|pvc?|persistentvolume(?:claim)?s?|no|nodes?)(?:\.|$)/i;
const metadata = /^(?:name|jsonpath=\{\.metadata\.\w+\})$/;

/** Words behind the verb of a `kubectl` command: which objects it is about, and where they are. */
export interface KubectlWords {
  /** Server and namespace, as options with their values. */
  readonly where: readonly string[];
  /** Options that name files, with their values. */
  readonly files: readonly string[];
  readonly names: readonly string[];
  readonly output: string | undefined;
}

/** Returns the parts of such words; null when one of them is not known to be about which objects and where. Pure. */
export function kubectlWords(words: readonly string[]): KubectlWords | null {
  const where: string[] = [];
  const files: string[] = [];
  const names: string[] = [];
  let output: string | undefined;
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (word === '-o') output = words[(at += 1)] ?? '';
    else if (!word.startsWith('-')) names.push(word);
    else if (valued.test(word)) {
      const value = words[(at += 1)];
      // Another option in place of a value: what kubectl makes of it is not known.
      if (value === undefined || /^-./.test(value)) return null;
      (aboutFiles.test(word) ? files : where).push(word, value);
    } else if (!plain.test(word)) return null;
    else if (/^--(?:filename|kustomize|namespace|context|kubeconfig)=/.test(word)) (aboutFiles.test(word) ? files : where).push(word);
  }
  return { where, files, names, output };
}

/**
 * Returns what a `kubectl` command does to named objects of a cluster that the task may reach: its changes can be looked at before
 * and after, so that a way back is known. Null for anything else that kubectl can do.
 */
export function clusterObjects(command: Command): 'Changes' | 'AsksMetadata' | null {
  const [verb = '', ...words] = args(command);
  if (command.name !== 'kubectl' || words.some((word) => hasHole(word) || word.includes('://'))) return null;
  const parsed = kubectlWords(words);
  if (parsed === null) return null;
  const { names, output } = parsed;
  const files = parsed.files.length > 0;
  if (verb === 'get') return names.length === 2 && output !== undefined && metadata.test(output) ? 'AsksMetadata' : null;
  if (output !== undefined) return null;
  if (verb === 'delete' && !files) return names.length === 2 && !holders.test(names[0] ?? '') ? 'Changes' : null;
  return /^(?:apply|create|replace|delete)$/.test(verb) && files && names.length === 0 ? 'Changes' : null;
}
