-- 1 when `record` is as readers see it already (`diagnosis::PLAIN`), as nearly every record is; then a list need not
-- take it apart. Any other number stands for the categories of another time.
ALTER TABLE runs ADD COLUMN plain INTEGER NOT NULL DEFAULT 0;
