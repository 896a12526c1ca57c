import { args, type Command } from '../shell/command.ts';
import { hasHole } from '../shell/marks.ts';

const engines = /^(?:docker|docker-compose|podman|nerdctl)$/;
/** Options that hand rights or files of the host to a container, or to the user that runs it. */
const reaching =
  /^--(?:privileged|pid|ipc|uts|userns|cgroupns|cap-add|device|security-opt|allow|volumes-from|gpus|host|context|tlsverify)(?:=|$)|^--net(?:work)?=(?:host|container:)|docker\.sock|containerd\.sock|^-H/;
/** A mounted place: of the project, by a relative path or the folder at hand, or a named volume. */
const mounted = /^(?:(?:\.{1,2}\/)?[\w-][\w.-]*(?:\/[\w.-]+)*|\.|[\uE000-\uE003]|\/workspace(?:\/[\w./-]*)?):/;
const looks =
  /^(?:ps|images|logs|inspect|version|info|diff|top|stats|port|history|events|(?:image|container|network|volume|buildx|context) (?:ls|inspect|list)|compose (?:ps|logs|config|images|ls|top|version))\b/;
const works =
  /^(?:build|buildx build|run|create|start|stop|exec|tag|rm|rmi|image rm|image build|pull|wait|cp|network create|compose (?:build|up|down|exec|run|start|stop|restart|pull|rm|create|wait))\b/;

const reads =
  /^(?:get|describe|logs|explain|api-resources|api-versions|version|cluster-info|top|diff|wait|kustomize|auth can-i|rollout (?:status|history)|config (?:view|current-context|get-contexts|get-clusters))\b/;
const secretKinds = /(?:^|[\s,/])secrets?(?:[\s,/.]|$)|^--raw|serviceaccounts?\/\S+\/token/i;
const releases =
  /^(?:list|ls|status|history|get (?:values|manifest|notes)|search|lint|unittest|template|dep|show|diff|verify|package|env)\b/;

function mounts(all: readonly string[]): readonly string[] {
  return all.flatMap((word, at) => {
    const attached = /^(?:-v|--volume=|--mount=)(.+)$/.exec(word)?.[1];
    if (attached !== undefined) return [attached];
    return /^(?:-v|--volume|--mount)$/.test(word) ? [all[at + 1] ?? ''] : [];
  });
}

const valued = /^(?:-f|-p|--file|--project-name|--profile|--env-file|--project-directory|-n|--namespace|-o|--output)$/;

/** The words that are no options and no values of options before the verb. */
function verbLine(command: Command): string {
  const all = args(command);
  return all.filter((word, at) => !word.startsWith('-') && !valued.test(all[at - 1] ?? '') && !hasHole(word)).join(' ');
}

/**
 * Returns what a tool of containers or clusters does that reaches no rights of the host and no secrets: it looks, or works with the
 * project's own containers. Null for all else that it can do.
 */
export function containerWork(command: Command): 'Looks' | 'Works' | null {
  if (engines.test(command.name)) return engineWork(command);
  if (command.name === 'helm') return releases.test(verbLine(command)) ? 'Looks' : null;
  return command.name === 'kubectl' || command.name === 'oc' ? clusterWork(command) : null;
}

function engineWork(command: Command): 'Looks' | 'Works' | null {
  const all = args(command);
  const line = verbLine(command);
  const verbs = command.name === 'docker-compose' ? `compose ${line}` : line;
  const shared = /^(?:run|create|compose (?:run|create))\b/.test(verbs) ? mounts(all) : [];
  const joined = all.some((word, at) => /^--(?:net(?:work)?|pid|ipc)$/.test(word) && /^host|^container:/.test(all[at + 1] ?? ''));
  // A place that comes from the output of a command may be any.
  const substituted = command.argv.some(({ text, from }) => hasHole(text) && from.length > 0);
  if (joined || all.some((word) => reaching.test(word)) || shared.some((value) => !mounted.test(value))) return null;
  if (looks.test(verbs)) return 'Looks';
  return works.test(verbs) && !substituted && !(/^(?:rm|rmi|image rm|stop)\b/.test(verbs) && all.some(hasHole)) ? 'Works' : null;
}

const changes = /^(?:apply|create(?! token\b)|delete|replace|patch|scale|set|label|annotate|expose|run)\b/;

/** Returns whether `kubectl` alone or its cluster computes a dry run. Null: not every option of it asks for one. */
function dryRun(command: Command): 'Client' | 'Server' | null {
  const all = args(command);
  const asked = all.slice(0, all.includes('--') ? all.indexOf('--') : all.length).filter((word) => /^--dry-run(?:=|$)/.test(word));
  if (asked.length === 0 || !asked.every((word) => /^--dry-run(?:=(?:client|server))?$/.test(word))) return null;
  return asked.some((word) => word.endsWith('server')) ? 'Server' : 'Client';
}

/** Clusters that run in containers of this machine, made for trying. */
const localContext = /^(?:kind-|k3d-|minikube$|docker-desktop$|rancher-desktop$)/;

function clusterWork(command: Command): 'Looks' | 'Works' | null {
  const all = args(command);
  const context = all.flatMap((word, at) => (word === '--context' ? [all[at + 1] ?? ''] : (/^--context=(.+)$/.exec(word)?.[1] ?? [])));
  const dry = dryRun(command);
  // It only prints the secret that its words hold; all other verbs ask the cluster for one.
  const printed = dry === 'Client' && /^create secret (?:generic|tls|docker-registry) /.test(verbLine(command));
  const foreign = (word: string): boolean =>
    /^--(?:as|token|server|kubeconfig|raw)(?:=|$)/.test(word) || (secretKinds.test(word) && !(printed && word === 'secret'));
  if (all.some((word) => foreign(word) || hasHole(word))) return null;
  const line = verbLine(command).replace(context.length === 1 ? `${context[0] ?? ''} ` : /^$/, '');
  if (
    context.length === 1 &&
    localContext.test(context[0] ?? '') &&
    /^(?:apply|create|delete|replace|patch|scale|set|label|annotate|run|wait|rollout)\b/.test(line)
  )
    return 'Works';
  const shown = dry !== null && (changes.test(line) || (dry === 'Client' && /^auth reconcile\b/.test(line)));
  return reads.test(line) || shown ? 'Looks' : null;
}
