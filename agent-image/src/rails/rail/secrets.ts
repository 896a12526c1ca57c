import { args, hasFlag, operands, type Command } from '../shell/command.ts';
import { hasGlob, hasHole, matchesGlob } from '../shell/marks.ts';
import { absolute } from '../shell/places.ts';
import { readTargets } from '../shell/targets.ts';
import { found, nothing, type Rail, type Surroundings } from './rail.ts';

const secretFile =
  /(?:^|\/)(?:\.env(?:\.(?!example|sample|template|dist|test|schema|defaults|d\.ts|(?:[\w-]+\.)+(?:example|sample|template|dist)$)[\w.-]+)?|\.envrc|id_(?:rsa|dsa|ecdsa|ed25519)(?!.*\.pub$)[\w.-]*|[^/]*\.(?:pem|p12|pfx|jks|keystore|kdbx|ppk|key)|\.npmrc|\.pypirc|\.netrc|_netrc|\.git-credentials|\.pgpass|\.my\.cnf|\.htpasswd|kubeconfig|\.kube\/config|\.docker\/config\.json|\.dockercfg|\.aws\/(?:credentials|config)|\.azure\/\S+|\.config\/(?:gcloud|gh|hub|rclone)\S*|\.ssh(?:\/.*)?|\.gnupg(?:\/.*)?|\.vault-token|\.[a-z]+_history|credentials(?:\.json)?|secrets?\.(?:ya?ml|json|toml|env)|service-account[\w-]*\.json|shadow|gshadow|sudoers|serviceaccount(?:\/.*)?|\.bitcoin\/\S*|wallet\.dat|Login Data|Cookies)$/;
const names =
  '.env .env.local .npmrc .netrc .pypirc .git-credentials id_rsa id_ed25519 id_ecdsa server.pem .bash_history kubeconfig shadow .ssh credentials'.split(
    ' ',
  );
/** A certificate or a public key by its name: what is shown to everybody who connects. */
const publicPem =
  /(?:^|[/._-])(?:certs?|certificates?|ca|cacert|chain|fullchain|crl|csr)(?:[._-][\w.-]*)?\.pem$|(?:^|[/._-])pub(?:lic|key)?(?:[._-][\w.-]*)?\.pem$/;
const privatePem = /priv|secret/i;
/** Keys that tests of a project are made with. */
const testKey = /\/(?:testdata|__?fixtures__?|fixtures)\/(?!.*\/\.)[\w./-]*(?:\.(?:pem|key|p12|pfx|jks|keystore)|(?<=\/)id_\w+)$/;
const secretName = /(?:TOKEN|SECRET|PASSW|API_?KEY|CREDENTIAL|PRIVATE|AUTH)/i;

/** Keys, tokens and passwords are read. */
export const secrets: Rail = {
  id: 'secrets',
  title: 'reading keys, tokens, passwords, histories; dumping the environment',
  severity: 'High',
  risk: 'External',
  cure: 'The task needs no secret: use the example file (`.env.example`) or a made-up value.',
  check(command, around) {
    const { name } = command;
    if (
      /^(?:key-?ring|security|pass|gopass|gpg|secret-tool|vault|op|bw)$/.test(name) &&
      /^(?:get|show|export|find-.*|read|list|--export-secret-keys?|lookup|kv)$/.test(args(command)[0] ?? '')
    )
      return found('High', `${name} hands out secrets`);
    const path =
      readTargets(command).find((text) => (isSecret(text) || holdsKey(text, command)) && !isHarmless(text, command, around)) ??
      args(command).find((text) => {
        const value = text.split(/[@=]/).at(-1) ?? '';
        return /[@=:]/.test(text) && isSecret(value) && takesFiles(command, text) && !isHarmless(value, command, around);
      });
    if (path !== undefined && !reading.test(name))
      return found(/^(?:source|\.)$/.test(name) ? 'Suspicious' : 'High', `${name || 'a redirect'} reads ${path}`);
    if (name === 'history' || name === 'fc') return found('Suspicious', `${name} shows what was typed before`);
    return dump(command);
  },
};

/** Programs that take such a name and show nothing of it. */
const reading =
  /^(?:cp-example|dotenv|docker-compose|chmod|wc|md5sum|sha256sum|file|du|node|npm|python[\d.]*|test|diff-names|eslint|prettier|ansible-lint|visudo)$/;

/** Reports whether openssl takes a file for a private key, whatever its name says. */
const holdsKey = (text: string, command: Command): boolean =>
  command.name === 'openssl' &&
  /^(?:rsa|ec|dsa|pkey|pkcs8|pkcs12)$/.test(args(command)[0] ?? '') &&
  text.endsWith('.pem') &&
  !args(command).includes('-pubin');

/** Reports whether a word of a command may name a file behind `@` or `=`. */
const takesFiles = ({ name }: Command, text: string): boolean =>
  /^(?:curl|wget|http|openssl|scp|rsync)$/.test(name) || (/^(?:kubectl|oc)$/.test(name) && /^--from-(?:env-)?file=/.test(text));

/** Reports whether a name of a secret is none where it stands: the certificate that openssl shows, a kind of object, a key of tests. */
function isHarmless(text: string, command: Command, { places }: Surroundings): boolean {
  const all = args(command);
  const before = all[all.indexOf(text) - 1] ?? '';
  if (/^(?:kubectl|oc)$/.test(command.name) && /^serviceaccount(?:\/[\w.-]+)?$/.test(text)) return !/^--?f/.test(before);
  if (command.name === 'openssl' && /^(?:x509|verify|crl)$/.test(all[0] ?? '') && text.endsWith('.pem')) return !/key$/i.test(before);
  const path = absolute(text, command.cwd);
  const inProject = places.roots.some((root) => root !== places.home && path.startsWith(`${root}/`));
  return inProject && path.length < 4096 && !hasHole(path) && !hasGlob(path) && testKey.test(path);
}

/** No path is longer. */
const longestPath = 4096;

export function isSecret(text: string): boolean {
  if (text.length > longestPath) return false;
  const path = text
    .replace(/^@/, '')
    .replace(/\/{2,}/g, '/')
    .replace(/\/+$/, '');
  if (!hasGlob(path)) return secretFile.test(path) && !isPublic(path);
  const base = path.slice(path.lastIndexOf('/') + 1);
  if (secretFile.test(path.replace(/[\uE001-\uE003]/g, ''))) return true;
  // `*` and `*.json` reach everything and mean nothing; `.e*` and `id_*` mean a secret.
  return (
    /[a-z._]{2}|^\./.test(base.replace(/[\uE001-\uE003][^]*$/, '')) &&
    !/^\.\uE001$/.test(base) &&
    names.some((name) => matchesGlob(base, name))
  );
}

const isPublic = (path: string): boolean => {
  const base = path.slice(path.lastIndexOf('/') + 1);
  return (
    base.length < 256 &&
    publicPem.test(base) &&
    !privatePem.test(base) &&
    (/pub/.test(base) || !/key/i.test(base)) &&
    !/(?:^|\/)\.(?:ssh|gnupg)\//.test(path)
  );
};

function dump(command: Command) {
  const { name } = command;
  const words = operands(command);
  const asked = words.some((text) => secretName.test(text));
  if (name === 'printenv')
    return asked
      ? found('High', `printenv shows ${words.join(' ')}`)
      : words.length === 0
        ? found('Suspicious', 'printenv shows the whole environment')
        : nothing;
  if (
    name === 'env' &&
    words.filter((text) => !text.includes('=')).length === 0 &&
    !hasFlag(command, 'iS', '--help', '--version', '--ignore-environment')
  )
    return found('Suspicious', 'env shows the whole environment');
  if (
    (name === 'set' && args(command).length === 0) ||
    (/^(?:export|declare|typeset)$/.test(name) && (args(command).length === 0 || (hasFlag(command, 'px') && words.length === 0)))
  ) {
    return found('Suspicious', `${name} shows the whole environment`);
  }
  if (name === 'compgen' && hasFlag(command, 've')) return found('Suspicious', 'compgen lists variables');
  return nothing;
}
