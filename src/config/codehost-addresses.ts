import type { Derived } from './setting.ts'

const CODEHOST = 'authentication.methods.codehost'
const GITHUB = 'https://github.com'
/** Where users log in; one's own secret goes to no host that one did not name. */
export const serverUrl: Derived<string | undefined> = {
  shown: `\`${GITHUB}\` or \`https://gitlab.com\`, required when kind is gitea`,
  from: (get) => ({ github: GITHUB, gitlab: 'https://gitlab.com' })[String(get(`${CODEHOST}.kind`))],
}
/** The tokens of users of a host of one's own go to that host. */
export const apiUrl: Derived<string | undefined> = {
  shown:
    '`<server_url>/api/v3`, and `https://api.github.com` of `https://github.com`; of gitea `<server_url>/api/v1`, of gitlab `<server_url>/api/v4`',
  from: (get) => {
    const host = (get(`${CODEHOST}.server_url`) as string | undefined)?.replace(/\/+$/, '')
    const kind = get(`${CODEHOST}.kind`)
    if (host === undefined) return undefined
    if (kind === 'gitea') return `${host}/api/v1`
    if (kind === 'gitlab') return `${host}/api/v4`
    return host === GITHUB ? 'https://api.github.com' : `${host}/api/v3`
  },
}
