import t from 'tap'
import { axeFindings } from './axe.ts'
import { signedIn, skip } from './browser.ts'
import { layoutFlaws } from './layout.ts'
import { inReachOfEverybody, withOpenService } from './matrix.ts'
import { ofOpenService, ofShell } from './screens.ts'

await t.test('the accessibility check finds faults that were put into a page', { skip }, async (t) => {
  const { page } = await signedIn(t, '/settings/preferences')
  await page.evaluate(`(() => {
    document.documentElement.removeAttribute('lang')
    const wide = document.createElement('button')
    wide.style.inlineSize = '3000px'
    document.querySelector('main').append(wide)
  })()`)
  const found = (await axeFindings(page)).join('\n')
  t.match(found, /^html-has-lang: <html/m)
  t.match(found, /^button-name: /m)
  t.match((await layoutFlaws(page)).join('\n'), /^sideways: /m)
})

await inReachOfEverybody(ofShell)
await inReachOfEverybody(ofOpenService, withOpenService)
