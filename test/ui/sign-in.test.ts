import t from 'tap'
import { openBrowser, signInByHand, skip, TOKEN } from './browser.ts'
import { startService } from './service.ts'
import { tokenNamed, withWays } from './ways.ts'

const plain = { 'rate_limit.enabled': 'false' }

await t.test('signing in stores the token where no script can read it', { skip }, async (t) => {
  const service = await startService(t, plain)
  const { page, context } = await openBrowser(t, service)
  await page.goto('/')
  await page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor()
  await page.getByLabel('Client token').fill(` ${TOKEN}\n`)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: /^Account: / }).waitFor()
  await page.waitForURL(/\/ns\/default\/flags$/)
  const kept = await page.evaluate('JSON.stringify([localStorage, sessionStorage, history.state, document.cookie])')
  t.notOk(`${String(kept)}${page.url()}${await page.content()}`.includes(TOKEN))
  const [cookie] = await context.cookies()
  t.match(cookie, { name: 'service_client_token', httpOnly: true, sameSite: 'Strict' })
})

await t.test('the sign-in page explains why a token cannot sign in', { skip }, async (t) => {
  const service = await startService(t, plain)
  const { page } = await openBrowser(t, service, { forced: [401, 403] })
  const { token: bound } = await tokenNamed(service, 'bound', { namespaceKey: 'default' })
  const { token: good } = await tokenNamed(service, 'good')
  await page.goto('/login')
  let sent = 0
  page.on('request', (request) => {
    if (request.method() === 'POST') sent++
  })
  const field = page.getByLabel('Client token')
  const submit = page.getByRole('button', { name: 'Sign in', exact: true })
  await submit.click()
  await page.getByText('Paste a client token.').waitFor()
  await field.fill(good.slice(0, -1) + (good.endsWith('0') ? '1' : '0'))
  await submit.click()
  await page.getByText('This token is mistyped: its checksum does not fit.').waitFor()
  t.equal(sent, 0, 'neither is sent')
  await field.fill(good.slice(0, 30))
  await submit.click()
  const alert = page.getByRole('alert')
  await alert.getByText('This token is unknown, expired or deleted.').waitFor()
  await alert.getByText('Was it cut off while copying?').waitFor()
  await alert.getByText(/^Request \S+/).waitFor()
  t.equal(await field.inputValue(), '')
  await field.fill(bound)
  await submit.click()
  await alert.getByText('This token is bound to one namespace.').waitFor()
  await page.getByRole('button', { name: 'Show token' }).click()
  t.equal(await field.getAttribute('type'), 'text')
})

await t.test('after any kind of login the requested address is opened', { skip }, async (t) => {
  const { service } = await withWays(t)
  const asked = '/settings/tokens?q=ci&status=ACTIVE&at=1'
  const { page } = await openBrowser(t, service)
  await page.goto(asked)
  await page.getByRole('button', { name: 'Use a client token' }).click()
  await page.getByLabel('Client token').fill(TOKEN)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('region', { name: 'Past' }).waitFor()
  t.equal(page.url(), service.url + asked)
  const { page: second } = await openBrowser(t, service)
  await second.goto(asked)
  await second.getByRole('button', { name: 'Continue with Sso' }).click()
  await second.getByPlaceholder('Enter any login').fill('ada')
  await second.getByPlaceholder('and password').fill('x')
  await second.getByRole('button', { name: 'Sign-in' }).click()
  await second.getByRole('button', { name: 'Account: Ada' }).waitFor()
  t.equal(second.url(), service.url + asked)
})

await t.test('a return path to another host is replaced by the start page', { skip }, async (t) => {
  const service = await startService(t, plain)
  const { page } = await openBrowser(t, service)
  await signInByHand(page)
  const paths = [
    '//x',
    '/\\x',
    'https://x.invalid/',
    'javascript:alert(1)',
    '/..//x',
    '/%2e%2e/x',
    `/${'a'.repeat(3000)}`,
  ]
  for (const path of paths) {
    await page.goto(`/login?return_to=${encodeURIComponent(path)}`)
    await page.getByRole('button', { name: /^Account: / }).waitFor()
    await page.waitForURL(`${service.url}/ns/default/flags`)
    t.pass(path.slice(0, 40))
  }
})

await t.test('the sign-in page shows no part of a hostile address', { skip }, async (t) => {
  const service = await startService(t, plain)
  const { page } = await openBrowser(t, service)
  const hostile = '<img src=x onerror=alert(1)>'
  await page.goto(`/login?${new URLSearchParams({ error: hostile, ref: '"><script>alert(1)</script>' }).toString()}`)
  await page.getByRole('alert').getByText('The sign-in failed.').waitFor()
  t.notMatch(await page.locator('body').innerText(), /onerror|script|Request/)
  await page.goto('/login?error=no_grant&ref=abc-123')
  await page.getByRole('alert').getByText('You are known, but no rule gives you access.').waitFor()
  await page.getByText('Request abc-123').waitFor()
})

await t.test('the sign-in page shows an unavailable provider next to its button', { skip }, async (t) => {
  const { service } = await withWays(t)
  const { page } = await openBrowser(t, service, { forced: [401, 503] })
  await page.route('**/auth/v1/method/oidc/sso/authorize*', (route) =>
    route.fulfill({ status: 503, json: { code: 14, message: 'provider is unavailable', details: [] } }),
  )
  await page.goto('/login')
  await page.getByRole('button', { name: 'Continue with Sso' }).click()
  await page.getByText('Sso could not be reached, or is in trouble.').waitFor()
  await page.route('**/auth/v1/method/codehost/authorize*', (route) =>
    route.fulfill({ json: { authorizeUrl: 'http://elsewhere.invalid/' } }),
  )
  await page.getByRole('button', { name: 'Continue with the code host' }).click()
  await page.getByText("The provider's address cannot be used.").waitFor()
})
