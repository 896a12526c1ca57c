// agent-image, rails/shell: settings of git that run programs, or change whom it trusts. May import rails/verdict and rails/syntax, no rail.

/** Settings whose value git runs as a command of the shell. */
const command =
  /^(?:core\.(?:sshcommand|pager|editor|fsmonitor|askpass|gitproxy|alternaterefscommand)|credential\.(?:.*\.)?helper|sequence\.editor|interactive\.difffilter|uploadpack\.packobjectshook|gpg\.(?:.*\.)?(?:program|defaultkeycommand)|pager\..*|(?:diff|merge|filter|difftool|mergetool|browser|man|tar|trailer)\..*\.(?:textconv|command|cmd|driver|clean|smudge|process)|diff\.external|remote\..*\.(?:uploadpack|receivepack))$/;
/** Settings by which git runs what lies elsewhere, reads more settings, or asks and trusts others. */
const trusting =
  /^(?:core\.(?:hookspath|worktree)|init\.templatedir|credential\..*|alias\..*|include(?:if)?\..*|url\..*|http\.(?:.*\.)?proxy\w*|protocol\..*\.allow|(?:difftool|mergetool|browser|man)\..*\.path|remote\..*\.(?:proxy|vcs))$/;
/** Values that switch a setting on or off, or name a program that does nothing. */
const plain = /^(?:true|false|cat)$/;

/** Reports whether git runs the value of a setting as a command; of `key` case does not count. */
export const runsValue = (key: string): boolean => command.test(key.toLowerCase());

/** Reports whether a setting changes what git runs or trusts. A driver of LFS is known. */
export function isRisky(key: string, value: string): boolean {
  const name = key.toLowerCase();
  if (name === 'http.sslverify') return /^(?:false|no|off|0|)$/i.test(value);
  if (name.startsWith('filter.lfs.') && /^git-lfs [\w -]+(?:%f)?$/.test(value)) return false;
  // Repositories of submodules and worktrees lie below the one that has them.
  if (name === 'core.worktree' && /^(?=[\w./-]*$)(?:\.\.\/){2,}[\w./-]/.test(value)) return false;
  return trusting.test(name) || (command.test(name) && !plain.test(value));
}

/**
 * The settings of a configuration file of git, in its order, keys in small letters. A line that goes on in the next one counts as two: what
 * git would read as the rest of a value is read as a setting of its own, never the reverse.
 *
 * @example settingsIn('[diff "py"]\n\ttextconv = x\n'); // [{ key: 'diff.py.textconv', value: 'x' }]
 */
export function settingsIn(text: string): readonly { readonly key: string; readonly value: string }[] {
  const found: { key: string; value: string }[] = [];
  let section = '';
  for (const line of text.replace(/^\uFEFF/, '').split('\n')) {
    let rest = line.trim();
    for (let head = header.exec(rest); head !== null; head = header.exec(rest)) {
      section = [head[1], ...(head[2] === undefined ? [] : [head[2]])].join('.').toLowerCase();
      rest = rest.slice(head[0].length).trim();
    }
    const [, key, value] = /^([A-Za-z][\w-]*)[ \t]*(?:$|=(.*)|[#;])/.exec(rest) ?? [];
    if (key !== undefined) found.push({ key: `${section}.${key.toLowerCase()}`, value: value?.trim() ?? 'true' });
  }
  return found;
}

const header = /^\[[ \t]*([\w.-]+)(?:[ \t]+"((?:[^"\\]|\\.)*)")?[ \t]*\]/;
