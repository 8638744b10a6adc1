"""Build sdist and wheel, check their files, and run all commands of each in a bare environment.

Write a software bill of materials of the wheel with its dependencies. The argument is a folder for
the results; without one, they are only checked. Needs the packages `build`, `cyclonedx-bom` and
`twine`; `tox -e packages` has them.
"""

import configparser
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

import sbom

REPOSITORY = Path(__file__).parents[1]
PACKAGE = 'placement_worker'
LEFT_OVERS = (
    '*.egg-info',
    '.*_cache',
    '.*venv',
    '.git',
    '.hypothesis',
    '.tox',
    '__pycache__',
    'build',
    'dist',
)
"""Of other work in this folder; setuptools packs whatever an earlier egg-info lists."""
FOR_PACKAGERS = (
    'Containerfile',
    'LICENSE',
    'bindep.txt',
    'conf/logging.conf',
    'conf/placement-worker.conf.sample',
    'conf/placement-worker.service',
    'deploy/helm/placement-worker/templates/statefulset.yaml',
    'devstack/plugin.sh',
    'devstack/settings',
    'doc/source/health.rst',
    'tests/conftest.py',
    'tests/unit/test_samples.py',
    'tools/test',
)


def main() -> None:
    """Do it all; what is wrong is an exception that says so, or the failing command's own words."""
    with tempfile.TemporaryDirectory(prefix='placement-worker-packages-') as folder:
        clean, built = Path(folder) / 'clean', Path(folder) / 'dist'
        shutil.copytree(
            REPOSITORY, clean, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OVERS)
        )
        run(sys.executable, '-m', 'build', '--outdir', built, clean)
        (sdist,), (wheel,) = built.glob('*.tar.gz'), built.glob('*.whl')
        run(sys.executable, '-m', 'twine', 'check', '--strict', sdist, wheel)
        check_sdist(sdist)
        check_wheel(wheel)
        for package in (sdist, wheel):
            check_installed(package, Path(folder) / package.suffix.lstrip('.'), commands(wheel))
            say(f'{package.name}: installed, and its commands run')
        bill = built / f'{wheel.stem}.cdx.json'
        sbom.write(Path(folder) / 'whl', bill)
        sbom.check(Path(folder) / 'whl', bill)
        say(f'{bill.name}: lists all packages of the environment')
        for results in sys.argv[1:2]:
            shutil.copytree(built, results, dirs_exist_ok=True)


def check_sdist(sdist: Path) -> None:
    """It has what packagers need beside the code."""
    with tarfile.open(sdist) as archive:
        names = {name.partition('/')[2] for name in archive.getnames()}
    refuse(sdist, 'lacks', set(FOR_PACKAGERS) - names)
    refuse(
        sdist,
        'should not have',
        {name for name in names if '__pycache__' in name or name.startswith('.git/')},
    )


def check_wheel(wheel: Path) -> None:
    """It has the package, all of it, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if '.dist-info/' not in name}
    listed = data()
    files = [file for file in (REPOSITORY / PACKAGE).rglob('*') if belongs(file) or file in listed]
    here = {str(file.relative_to(REPOSITORY)) for file in files}
    refuse(wheel, 'lacks', here - names)
    refuse(wheel, 'should not have', names - here)


def belongs(file: Path) -> bool:
    """Return whether a file is in a package; a folder without `__init__.py` holds examples."""
    return file.is_file() and file.suffix != '.pyc' and (file.parent / '__init__.py').exists()


def data() -> set[Path]:
    """Return the files in other folders that setup.cfg names as package data."""
    parser = configparser.ConfigParser()
    parser.read(REPOSITORY / 'setup.cfg')
    return {
        file
        for package, patterns in parser['options.package_data'].items()
        for pattern in patterns.split()
        for file in (REPOSITORY / package.replace('.', '/')).glob(pattern)
    }


def commands(wheel: Path) -> list[str]:
    """The console scripts that the wheel declares."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (
            name for name in archive.namelist() if name.endswith('.dist-info/entry_points.txt')
        )
        parser = configparser.RawConfigParser(delimiters=('=',))
        parser.read_string(archive.read(name).decode())
    return sorted(parser['console_scripts'])


def check_installed(package: Path, folder: Path, scripts: list[str]) -> None:
    """Install it where nothing else is, and run its commands from there."""
    venv.create(folder)
    python, there = folder / 'bin' / 'python', folder / 'empty'
    there.mkdir()
    # pip of this environment, so that the new one has nothing but the package and what it needs
    pip = (sys.executable, '-m', 'pip', '--disable-pip-version-check', '--python', python)
    run(*pip, 'install', '--quiet', package, cwd=there)
    run(*pip, 'check', cwd=there)
    for script in scripts:
        if not run(folder / 'bin' / script, '--help', cwd=there):
            raise SystemExit(f'{package.name}: {script} --help prints nothing')
    (example,) = folder.glob(f'lib/python*/site-packages/{PACKAGE}/examples/scale-out.yaml')
    for arguments in (('check', example), ('type', 'list')):
        answer = run(folder / 'bin' / 'placement-policy', *arguments, cwd=there)
        if 'senlin.policy.zone_placement' not in answer:
            raise SystemExit(
                f'{package.name}: placement-policy {arguments[0]} has no zone placement:\n{answer}'
            )


def run(*command: object, cwd: Path = REPOSITORY) -> str:
    """Run a command and return its output; exit with its output if it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        line = ' '.join(map(str, command))
        raise SystemExit(f'{line}: exit status {done.returncode}\n{done.stdout}{done.stderr}')
    return done.stdout


def refuse(package: Path, verb: str, names: set[str]) -> None:
    """Exit if there are such names."""
    if names:
        raise SystemExit(f'{package.name} {verb} {", ".join(sorted(names))}')


def say(text: str) -> None:
    """A line of progress."""
    sys.stdout.write(f'{text}\n')


if __name__ == '__main__':
    main()
