/** Words that mean the same in every program; all other names are one token, so that what is learned carries over. */
const words = `
False None True and as assert async await break case catch class const continue def del do elif else except export extends
finally for from function global if import in instanceof is lambda let new nonlocal not null of or pass raise return self
static super switch this throw try typeof undefined var void while with yield
abs all any append bool chr copy count dict divmod endswith enumerate extend filter find float format get index insert int
isalpha isdigit isinstance items join key keys len length list lower lstrip map max min next open ord pop print push range
remove replace reverse reversed round rstrip set setdefault slice sort sorted split splitlines startswith str strip sum
tuple type update upper values zip
KeyError ValueError TypeError IndexError Exception Error
cat cd chmod chown cp curl dd docker echo env eval exec find git grep install kill kubectl ls make mkdir mv node npm npx pip
python python3 pytest rm sed sh ssh sudo tar test touch wget
`;

const known: ReadonlySet<string> = new Set(words.split(/\s+/).filter((word) => word !== ''));

/** Words, numbers and signs of one line, with what is particular to one program taken out. */
export function tokensOf(line: string): string[] {
  const raw = line.match(/[A-Za-z_]\w*|\d+|[^\s\w]{1,2}/g) ?? [];
  return raw.map((token) => {
    if (/^\d/.test(token)) return token.length === 1 && token < '3' ? token : 'NUMBER';
    return /^[A-Za-z_]/.test(token) && !known.has(token) ? 'NAME' : token;
  });
}
