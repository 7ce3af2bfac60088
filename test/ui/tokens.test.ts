import t from 'tap'
import { openBrowser, settled, signedIn, signIn, skip, withSession } from './browser.ts'
import { gate, withFates } from './fates.ts'
import { hasEntered } from './focus.ts'
import { startService } from './service.ts'
import { tokenNamed } from './ways.ts'

const path = '/settings/tokens'

await t.test('a new token is shown once and works', { skip }, async (t) => {
  const { page, service } = await signedIn(t, '/ns/default/flags')
  await page.getByRole('link', { name: 'Static Tokens' }).click()
  await page.getByRole('button', { name: 'New token' }).click()
  const form = page.getByRole('dialog', { name: 'New static token' })
  await form.getByRole('button', { name: 'Create token' }).click()
  await form.getByText('Give the token a name.').waitFor()
  await form.getByRole('textbox', { name: 'Name' }).fill('ci-prod')
  await form.getByRole('combobox', { name: 'Role' }).selectOption({ label: 'Full access' })
  await form.getByRole('textbox', { name: 'Reason' }).fill('für die Auslieferung — neu')
  await form.getByRole('button', { name: 'Create token' }).click()

  const reveal = page.getByRole('dialog', { name: 'Token created' })
  const token = await reveal.getByRole('textbox', { name: 'Client token' }).inputValue()
  t.match(token, /^rct_[0-9A-Za-z]{49}$/)
  const { status } = await service.request('GET', '/auth/v1/self', undefined, { authorization: `Bearer ${token}` })
  t.equal(status, 200)

  await hasEntered(page, reveal)
  await page.keyboard.press('Escape')
  await page.mouse.click(5, 400)
  await settled(page)
  t.ok(await reveal.isVisible(), 'neither Escape nor a click beside takes it away')
  await page.evaluate('history.back()')
  await page.getByRole('alertdialog').getByRole('button', { name: 'Stay' }).click()
  t.equal(await reveal.getByRole('textbox', { name: 'Client token' }).inputValue(), token, 'nor does going back')
  await reveal.getByRole('button', { name: 'Done' }).click()
  await reveal.getByText('Tick the box first').waitFor()
  await reveal.getByRole('checkbox', { name: 'I have stored this token' }).click()
  await reveal.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('rowheader', { name: 'ci-prod' }).waitFor()
  t.notOk((await page.content()).includes(token), 'it stands nowhere on the page')
  const kept = await page.evaluate('JSON.stringify([localStorage, sessionStorage, history.state, location.href])')
  t.notOk((kept as string).includes(token), 'nor where a script could find it')
})

await t.test('the list of tokens shows names as plain text', { skip }, async (t) => {
  const { page, service } = await withSession(t)
  const names = ['<img src=x onerror="document.title=\'run\'">', '{{7*7}}', 'ü'.repeat(255)]
  for (const name of names)
    t.equal((await service.request('POST', '/auth/v1/method/token', { name, description: name })).status, 200)
  await page.goto(path)
  for (const name of names) await page.getByRole('rowheader', { name }).waitFor()
  const wide = 'document.documentElement.scrollWidth > document.documentElement.clientWidth'
  t.equal(await page.evaluate(wide), false, 'nothing makes the page scroll sideways')
  t.notMatch(await page.title(), /^run/)
})

await t.test('if the answer is lost, one token exists, and that is reported', { skip }, async (t) => {
  const { page, service } = await signedIn(t, path, {}, { forced: [0, 401] })
  let lost = 0
  await page.route('**/auth/v1/method/token', async (route) => {
    if (lost++ > 0) return route.fallback()
    await route.fetch()
    return route.abort()
  })
  await page.getByRole('button', { name: 'New token' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('lost')
  await page.getByRole('combobox', { name: 'Role' }).selectOption({ label: 'Full access' })
  await page.getByRole('button', { name: 'Create token' }).click()
  await page.getByRole('alert').getByText('It is not known whether this was done.').waitFor()
  await page.getByRole('button', { name: 'Create token' }).click()
  await page.getByRole('dialog', { name: 'Token created, but its value was lost' }).waitFor()
  const { json } = await service.request<{ totalCount: number }>('GET', '/auth/v1/tokens?q=lost')
  t.equal(json.totalCount, 1)
  await page.getByRole('button', { name: 'Delete this token' }).click()
  await page.getByRole('status').getByText('Token lost deleted.').waitFor()
})

await t.test('several tokens are deleted together, and each has its own result', { skip }, async (t) => {
  const { page, service } = await withSession(t, {}, { forced: [401, 503] })
  const ids: string[] = []
  for (const name of ['one', 'two', 'three']) {
    const { json } = await service.request<{ authentication: { id: string } }>('POST', '/auth/v1/method/token', {
      name,
    })
    ids.push(json.authentication.id)
  }
  await page.goto(path)
  let refused = 0
  await page.route(`**/auth/v1/tokens/${ids[1]}`, (route) =>
    refused++ === 0
      ? route.fulfill({ status: 503, json: { code: 14, message: 'backend is unavailable', details: [] } })
      : route.fallback(),
  )
  for (const name of ['one', 'two', 'three']) await page.getByRole('checkbox', { name: `Select ${name}` }).click()
  await page.getByRole('button', { name: 'Delete 3 tokens' }).click()
  const ask = page.getByRole('alertdialog')
  await ask.getByRole('button', { name: 'Delete 3 tokens' }).click()
  const results = page.getByRole('dialog', { name: '2 of 3 tokens deleted' })
  await results.waitFor()
  t.equal(await results.getByRole('list', { name: 'Results' }).getByRole('listitem').count(), 3)
  t.notMatch(await results.innerText(), /cannot be undone|Reason/, 'it is no question')
  await results.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('status').getByText('3 tokens deleted.').waitFor()
  for (const id of ids) t.equal((await service.request('GET', `/auth/v1/tokens/${id}`)).status, 404)
})

const ALIVE = '**/alive'

await t.test('deleting the token of the session signs the user out', { skip }, async (t) => {
  const service = await startService(t, { 'rate_limit.enabled': 'false' })
  const mine = await tokenNamed(service, 'mine')
  const others = [await tokenNamed(service, 'one'), await tokenNamed(service, 'two')]
  const { page } = await openBrowser(t, service, { forced: [500] })
  await signIn(page, path, mine.token)
  await page.evaluate(`new MutationObserver(() => {
    if (document.body.textContent.includes('Your session has ended')) sessionStorage.setItem('asked', 'yes')
  }).observe(document.body, { childList: true, subtree: true })`)
  const refused: string[] = []
  page.on('response', (answer) => void (answer.status() === 401 && refused.push(answer.url())))
  const loading = gate()
  const left = page.waitForRequest('**/login')
  await page.route('**/login', async (route) => {
    await loading.opened
    return route.fallback()
  })
  await withFates(page, `**/auth/v1/tokens/${others[0]!.id}`, [500])
  for (const name of ['mine', 'one', 'two']) await page.getByRole('checkbox', { name: `Select ${name}` }).click()
  await page.getByRole('button', { name: 'Delete 3 tokens' }).click()
  const ask = page.getByRole('alertdialog')
  await ask.getByText('You are signed in with it: you will be signed out.').waitFor()
  await ask.getByRole('button', { name: 'Delete 3 tokens' }).click()
  const results = page.getByRole('dialog', { name: '1 of 3 tokens deleted' })
  await results.getByText('mine: Not deleted: you are signed in with it, so it is deleted last').waitFor()
  const status = async (token: string) =>
    (await service.request('GET', '/auth/v1/self', undefined, { authorization: `Bearer ${token}` })).status
  t.equal(await status(mine.token), 200, 'who sees what failed can try again')
  await page.route(ALIVE, (route) => route.fulfill({ body: '' }))
  await page.evaluate(`void (async () => { for (;;) await fetch('/alive') })().catch(() => undefined)`)
  await results.getByRole('button', { name: 'Try again' }).click({ noWaitAfter: true })
  await left
  // The current page stays alive until the next loads. Later requests prove that it sent none for its own data.
  for (let n = 0; n < 3; n++) await page.waitForRequest(ALIVE)
  loading.open()
  await page.waitForURL(/\/login$/)
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  for (const { token } of [mine, ...others]) t.equal(await status(token), 401)
  t.equal(await page.evaluate(`sessionStorage.getItem('asked')`), null, 'no dialog to sign in again')
  t.strictSame(refused, [], 'nothing was read under the token that had ended')
})

await t.test('before signing in the UI requests only the session and the login methods', { skip }, async (t) => {
  const service = await startService(t, { 'rate_limit.enabled': 'false' })
  const { page } = await openBrowser(t, service)
  const asked: string[] = []
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    if (request.resourceType() === 'fetch') asked.push(pathname)
  })
  await page.goto(path)
  await page.getByLabel('Client token').waitFor()
  t.strictSame([...new Set(asked)].sort(), ['/auth/v1/method', '/auth/v1/self/session'])
  t.match(page.url(), /\/login\?return_to=%2Fsettings%2Ftokens$/)
})
