import { inReachOfEverybody } from './matrix.ts'
import { ofHistory } from './screens.ts'

await inReachOfEverybody(ofHistory)
