import type { Derived } from '../setting.ts'

const CODEHOST = 'authentication.methods.codehost'
const GITHUB = 'https://github.com'
/**
 * Login URL of the code host. A default exists only for known hosts, so that a client secret is sent only to a
 * configured host.
 */
export const serverUrl: Derived<string | undefined> = {
  shown: `\`${GITHUB}\` or \`https://gitlab.com\`, required when kind is gitea`,
  from: (get) => ({ github: GITHUB, gitlab: 'https://gitlab.com' })[String(get(`${CODEHOST}.kind`))],
}
/**
 * API URL of the code host. The default follows `server_url`, so that user tokens of a private host are sent only
 * there.
 */
export const apiUrl: Derived<string | undefined> = {
  shown:
    '`<server_url>/api/v3`, for `https://github.com` `https://api.github.com`; for gitea `<server_url>/api/v1`, for gitlab `<server_url>/api/v4`',
  from: (get) => {
    const host = (get(`${CODEHOST}.server_url`) as string | undefined)?.replace(/\/+$/, '')
    const kind = get(`${CODEHOST}.kind`)
    if (host === undefined) return undefined
    if (kind === 'gitea') return `${host}/api/v1`
    if (kind === 'gitlab') return `${host}/api/v4`
    return host === GITHUB ? 'https://api.github.com' : `${host}/api/v3`
  },
}
