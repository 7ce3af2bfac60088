import { createHash } from 'node:crypto'
import t from 'tap'
import { mint } from '../../src/auth/client-token.ts'
import { logIn, OIDC } from '../http/people.ts'
import { comesTo, openBrowser, signIn, skip } from './browser.ts'
import { button, said } from './flag-page.ts'
import { tokenNamed, withSessions } from './ways.ts'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

await t.test('a token is found by its SHA-256, and is in no request', { skip }, async (t) => {
  const { service } = await withSessions(t)
  const maker = await tokenNamed(service, 'maker')
  const made = await service.request<{ clientToken: string; authentication: { id: string } }>(
    'POST',
    '/auth/v1/method/token',
    { name: 'made', namespaceKey: 'default', role: 'client' },
    { authorization: `Bearer ${maker.token}`, 'event-reason': 'for the shop' },
  )
  const { clientToken, authentication } = made.json
  const { page } = await openBrowser(t, service)
  const sent: string[] = []
  page.on('request', (request) => void sent.push(`${request.url()} ${request.postData() ?? ''}`))
  // Over plain http a browser offers no hash.
  await page.addInitScript(`Object.defineProperty(crypto, 'subtle', { value: undefined })`)
  await signIn(page, '/settings/tokens')
  const dialog = page.getByRole('dialog', { name: 'Find a token' })
  const find = async (token: string) => {
    await dialog.getByLabel('Client token').fill(token)
    await button(dialog, 'Find').click()
  }
  await button(page, 'Find a token').click()
  await find('')
  await dialog.getByText('Paste a client token.').waitFor()
  await find(mint('token'))
  await dialog.getByText('No token of Rollcall has this value.').waitFor()
  await find(` ${clientToken}\n`)
  await dialog.getByRole('link', { name: 'made' }).waitFor()
  t.equal(await dialog.getByLabel('Client token').inputValue(), '', 'the field is emptied')
  t.equal(sent.filter((text) => text.includes(clientToken)).length, 0)
  t.equal(sent.filter((text) => text.includes(sha256(clientToken))).length, 1)
  await service.request('DELETE', `/auth/v1/tokens/${authentication.id}`, undefined, {
    authorization: `Bearer ${maker.token}`,
    'event-reason': 'not needed',
  })
  await find(clientToken)
  await dialog.getByText('Deleted', { exact: true }).waitFor()
  await dialog.getByRole('link', { name: 'made' }).click()
  await page.getByRole('heading', { name: 'made', level: 1 }).waitFor()
  const facts = page.locator('dl[aria-label="Token"]')
  const factsAre = (words: RegExp) => comesTo(t, async () => words.test(await facts.innerText()), true, String(words))
  await factsAre(new RegExp(`Ends with\\s+…${clientToken.slice(-4)}`))
  await factsAre(/Created by\s+maker\s+“for the shop”/)
  await factsAre(/Removed by\s+maker\s+“not needed”/)
  await page.getByText('It can be published').waitFor()
  t.match(await page.getByRole('list', { name: 'Life of the token' }).innerText(), /Created[^]*Last used[^]*Removed/)
  await page.getByRole('link', { name: 'Which rights does it have?' }).click()
  await page.getByRole('heading', { name: 'Can made change flags in every namespace now?' }).waitFor()
})

await t.test('tokens are listed by access and by maker', { skip }, async (t) => {
  const { service } = await withSessions(t)
  const maker = await tokenNamed(service, 'maker')
  for (const name of ['one', 'two'])
    await service.request(
      'POST',
      '/auth/v1/method/token',
      { name, role: 'viewer' },
      { authorization: `Bearer ${maker.token}` },
    )
  const { page } = await openBrowser(t, service)
  await signIn(page, '/settings/tokens?access=GRANTED')
  await page.getByRole('heading', { name: 'Static Tokens 2' }).waitFor()
  await page.getByRole('combobox', { name: 'Access' }).selectOption({ label: 'Full access' })
  await page.getByRole('heading', { name: 'Static Tokens 2' }).waitFor()
  await page.getByRole('link', { name: 'maker' }).click()
  const made = page.getByRole('list', { name: 'Tokens it created' })
  await comesTo(t, () => made.getByRole('link').allInnerTexts(), ['two', 'one'])
  await page.getByRole('link', { name: 'All 2 tokens it created' }).click()
  await page.getByRole('heading', { name: 'Static Tokens 2' }).waitFor()
  await page.waitForURL(`${service.url}/settings/tokens?maker=${maker.id}`)
  await comesTo(t, () => page.getByRole('rowheader').getByRole('link').allInnerTexts(), ['two', 'one'])
  await button(page, 'Remove filter Created by maker').click()
  await page.waitForURL(`${service.url}/settings/tokens`)
})

await t.test('the sessions of a person at two providers are found and ended together', { skip }, async (t) => {
  const { service, liar } = await withSessions(t)
  liar.lies = { claims: { sub: 'alice-at-sso', name: 'Alice', email: 'Alice@Example.com' } }
  for (let n = 0; n < 2; n++) await logIn(service, OIDC)
  const { page } = await openBrowser(t, service)
  const addresses: string[] = []
  page.on('request', (request) => void addresses.push(request.url()))
  await signIn(page, '/settings/sessions')
  await page.getByRole('heading', { name: 'Sessions 6' }).waitFor()
  await page.getByRole('row').filter({ hasText: 'Ada' }).first().getByText('Full access', { exact: true }).waitFor()
  await button(page, 'Find a person').click()
  const dialog = page.getByRole('dialog', { name: 'Find a person' })
  const search = async (person: string) => {
    await dialog.getByRole('textbox', { name: 'E-mail address or login name' }).fill(person)
    await button(dialog, 'Find sessions').click()
  }
  await search(' ')
  await dialog.getByText('Enter an e-mail address or a login name.').waitFor()
  await search('nobody@example.com')
  await dialog.getByText('No session found among 5 live sessions.').waitFor()
  await search('alice@example.com')
  await dialog.getByText('3 sessions found among 5 live sessions.').waitFor()
  const found = dialog.getByRole('list', { name: 'Sessions found' }).getByRole('listitem')
  t.equal(await found.filter({ hasText: 'Corporate SSO' }).count(), 2)
  t.equal(await found.filter({ hasText: 'Code host' }).count(), 1)
  await button(dialog, 'End 3 sessions').click()
  await button(page.getByRole('alertdialog', { name: 'End 3 sessions?' }), 'End 3 sessions').click()
  await said(page, '3 sessions ended.')
  await page.getByRole('heading', { name: 'Sessions 3' }).waitFor()
  t.equal(await page.getByRole('row').filter({ hasText: 'Alice' }).count(), 0)
  t.notOk(
    addresses.some((address) => /alice/i.test(decodeURIComponent(address))),
    'no address has the person',
  )
  await page.getByRole('row').filter({ hasText: 'Ada' }).first().getByRole('link').click()
  await page.locator('dl[aria-label="Session"]').getByText('Full access').waitFor()
  await button(page, 'Find this person at all providers').click()
  await button(dialog, 'Find sessions').click()
  await dialog.getByText('2 sessions found among 2 live sessions.').waitFor()
})
