import type { Locator, Page } from 'playwright-core'
import { PASSWORD } from './keycloak.ts'

/** Form of a Keycloak page without scripts: its target and cookies. */
const formOf = async (answer: Response) => {
  const page = await answer.text()
  const [, action] = /<form[^>]*\baction="([^"]+)"/.exec(page) ?? []
  if (action === undefined)
    throw new Error(`no form in the answer ${answer.status}: ${page.replaceAll(/<[^>]*>|\s+/g, ' ').slice(0, 500)}`)
  const cookie = answer.headers
    .getSetCookie()
    .map((line) => line.split(';')[0]!)
    .join('; ')
  return { action: action.replaceAll('&amp;', '&'), cookie }
}

/** Signs in at Keycloak with plain requests; returns the query of the callback. */
export const signInAt = async (address: URL, username: string): Promise<URLSearchParams> => {
  const { action, cookie } = await formOf(await fetch(address, { redirect: 'manual' }))
  const body = new URLSearchParams({ username, password: PASSWORD })
  const answer = await fetch(action, { method: 'POST', body, headers: { cookie }, redirect: 'manual' })
  const location = answer.headers.get('location')
  if (location === null) throw new Error(`Keycloak let ${username} not in: ${answer.status}`)
  return new URL(location).searchParams
}

const buttonOf = (page: Page): Locator => page.getByRole('button', { name: 'Sign In' })
/** Signs in at Keycloak in a browser window. */
export const fillIn = async (page: Page, username: string, password = PASSWORD): Promise<void> => {
  await buttonOf(page).waitFor()
  await page.getByLabel('Username or email').fill(username)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await buttonOf(page).click()
}
