import t from 'tap'
import { viewsContract } from '../../contracts/views.ts'
import { portOf } from './store.ts'

void t.test('Views', async (t) => viewsContract(t, (t) => portOf(t, 'views')))
