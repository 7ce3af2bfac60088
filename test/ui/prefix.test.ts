import { readFile } from 'node:fs/promises'
import { request as forward } from 'node:http'
import t from 'tap'
import { codehostStandIn } from '../auth/stand-ins/codehost.ts'
import { listen } from '../auth/stand-ins/listen.ts'
import { maker } from '../http/flags.ts'
import { httpsSettings } from '../http/https.ts'
import { codehostSettings } from '../http/people.ts'
import { becomesTrue, openBrowser, skip, TOKEN } from './browser.ts'
import { startService } from './service.ts'

const BASE = '/tools/rollcall'

/** Starts a service behind a proxy that terminates TLS and adds a base path. */
const behindProxy = async (t: Parameters<typeof startService>[0]) => {
  const tls = await httpsSettings(t)
  const [cert, key] = await Promise.all([
    readFile(tls['server.cert_file'], 'utf8'),
    readFile(tls['server.cert_key'], 'utf8'),
  ])
  let target = ''
  const outside: string[] = []
  const proxy = await listen(
    t,
    (asked, answer) => {
      const { url = '', method, headers } = asked
      if (!url.startsWith(`${BASE}/`)) {
        outside.push(url)
        return void answer.writeHead(404).end()
      }
      const onward = forward(target + url.slice(BASE.length), { method, headers }, (got) => {
        answer.writeHead(got.statusCode!, got.headers)
        got.pipe(answer)
      })
      asked.pipe(onward)
    },
    { cert, key },
  )
  const host = await codehostStandIn(t)
  const service = await startService(t, {
    'server.public_url': `${proxy}${BASE}`,
    'rate_limit.enabled': 'false',
    ...codehostSettings(host.url),
  })
  target = service.url
  return { url: proxy, outside, service }
}

await t.test('the UI works below a base path behind TLS', { skip }, async (t) => {
  const { url, outside, service } = await behindProxy(t)
  const make = maker(service)
  await make.boolean('checkout')
  await make.threshold('checkout', 100)
  const { page, context } = await openBrowser(t, { url }, { context: { ignoreHTTPSErrors: true }, clipboard: true })
  await page.goto(`${BASE}/settings/tokens?q=ci`)
  await page.getByRole('button', { name: 'Use a client token' }).click()
  await page.getByLabel('Client token').fill(TOKEN)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Static Tokens' }).waitFor()
  t.equal(page.url(), `${url}${BASE}/settings/tokens?q=ci`)
  const [cookie] = await context.cookies()
  t.match(cookie, { path: BASE, secure: true, httpOnly: true, sameSite: 'Strict' })
  await page.getByRole('link', { name: 'Evaluate' }).click()
  await page.waitForURL(`${url}${BASE}/ns/default/evaluate`)
  await page.getByRole('combobox', { name: 'Flag' }).fill('check')
  await page.getByRole('option', { name: 'checkout' }).click()
  await page.getByRole('textbox', { name: 'Entity id' }).fill('user-42')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('region', { name: 'Answer' }).getByText('matched rollout 1').waitFor()
  t.equal(page.url(), `${url}${BASE}/ns/default/evaluate?flag=checkout&entity=user-42`)
  await page.getByRole('button', { name: 'Copy link' }).click()
  await page.getByText('Copied.').waitFor()
  t.equal(await page.evaluate('navigator.clipboard.readText()'), page.url())
  await page.getByRole('button', { name: 'Copy as curl' }).click()
  await becomesTrue(page, `navigator.clipboard.readText().then((text) => text.startsWith('curl '))`)
  t.match(await page.evaluate('navigator.clipboard.readText()'), `${url}${BASE}/evaluate/v1/boolean?explain=true`)
  await page.getByRole('link', { name: 'Preferences' }).click()
  await page.waitForURL(`${url}${BASE}/settings/preferences`)
  await page.getByRole('button', { name: /^Account: / }).click()
  await page.getByRole('menuitem', { name: /^Sign out…/ }).click()
  await page.waitForURL(`${url}${BASE}/login`)

  await page.goto(`${BASE}/settings/preferences`)
  await page.getByRole('button', { name: 'Continue with the code host' }).click()
  await page.getByRole('button', { name: 'Account: Alice' }).waitFor()
  t.equal(page.url(), `${url}${BASE}/settings/preferences`)
  await page.goto(`${BASE}/`)
  await page.waitForURL(`${url}${BASE}/ns/default/flags`)
  t.strictSame(
    outside.filter((path) => path !== '/favicon.ico'),
    [],
    'nothing outside of its path was asked for',
  )
})
